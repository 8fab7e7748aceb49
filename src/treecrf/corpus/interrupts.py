"""Ctrl-C: a command ends with one line and status 130; while lines are parsed, after the current block of lines."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

STATUS = 130  # exit status of a command that SIGINT has ended
_MESSAGE = "interrupted; the current lines are finished first (Ctrl-C again stops at once)"


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
        os.write(2, f"{name}: interrupted\n".encode())
        raise SystemExit(STATUS) from None
    finally:
        if signal.getsignal(signal.SIGINT) is _raise_once:  # after a Ctrl-C, the next one ends the process at once
            signal.signal(signal.SIGINT, old_handler)


def _raise_once(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(STATUS))
    raise KeyboardInterrupt


class Interrupts:
    """Defers the first Ctrl-C until `check` is called. A second one, or one while lines are read, acts at once."""

    def __init__(self, warn: Callable[[str], object] | None = None) -> None:
        self._warn = warn
        self._is_reading = False
        self._is_requested = False
        self._handler: Any = None  # the caller's

    def __enter__(self) -> "Interrupts":
        # Python calls signal handlers in the main thread only
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):  # not if the signal is ignored, as in a job of nohup
                self._handler = handler
                signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is not None and signal.getsignal(signal.SIGINT) == self._on_signal:
            signal.signal(signal.SIGINT, self._handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._is_reading or self._is_requested:
            self._handler(number, frame)
            return
        self._is_requested = True
        if self._warn is not None:
            with suppress(RuntimeError):  # the signal came in the middle of another message
                self._warn(_MESSAGE)

    def while_reading(self, lines: Iterator[T]) -> Iterator[T]:
        """The same lines. While the next line is read, Ctrl-C acts at once, because the input may be a terminal."""
        while True:
            self._is_reading = True
            try:
                line = next(lines, None)
            finally:
                self._is_reading = False
            if line is None:
                return
            yield line

    def check(self) -> None:
        """Calls the caller's handler, which raises `KeyboardInterrupt`, if Ctrl-C was pressed."""
        if self._is_requested:
            self._handler(signal.SIGINT, None)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Delays the first Ctrl-C until the end of the block.

    An exception of the handler would be lost in the import of a module that is compiled with Cython, and in callbacks
    of the fork of a process.
    """
    with Interrupts() as interrupts:
        yield
    interrupts.check()
