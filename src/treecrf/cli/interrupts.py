"""Ctrl-C on the command line: one line and exit status 130, at any moment."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STATUS = 130  # of a command that SIGINT has ended


@contextmanager
def exit_on_interrupt(name: str) -> Iterator[None]:
    """Ends the process at Ctrl-C with a message. A second Ctrl-C ends it at once.

    Files are written atomically, so it is safe to end the process without cleaning up.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield
        return
    old_handler = signal.signal(signal.SIGINT, _raise_once)
    try:
        yield
    except KeyboardInterrupt:
        _write_line(f"{name}: interrupted")
        raise SystemExit(STATUS) from None
    finally:
        if signal.getsignal(signal.SIGINT) is _raise_once:  # after a Ctrl-C, the next one ends the process at once
            signal.signal(signal.SIGINT, old_handler)


def _raise_once(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(STATUS))
    raise KeyboardInterrupt


def _write_line(text: str) -> None:
    os.write(2, f"{text}\n".encode())
