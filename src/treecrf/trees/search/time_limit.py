"""A limit on the time of a search."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises a TimeoutError in a block that takes longer; a regular expression and the search itself are interrupted.

    It uses the alarm signal, so it works in the main thread of a process on Linux and macOS. Elsewhere, run the search
    in a process that can be killed.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise ValueError("a time limit needs the main thread on Linux or macOS; run the search in a process of its own")
    if not 0 < seconds < float("inf"):
        raise ValueError(f"the time limit is {seconds} seconds; expected a positive number")

    def stop(*_: Any) -> None:
        raise TimeoutError(f"the search took more than {seconds:g} seconds; expected a simpler pattern or fewer trees")

    handler = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
