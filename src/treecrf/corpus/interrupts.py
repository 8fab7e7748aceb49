"""Ctrl-C while lines are parsed: the run ends after the current block of lines, so that no work is lost."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

_MESSAGE = "interrupted; the current lines are finished first (Ctrl-C again stops at once)"


class Interrupts:
    """Defers the first Ctrl-C until `check` is called. A second one, or one while lines are read, acts at once."""

    def __init__(self, warn: Callable[[str], object]) -> None:
        self._warn = warn
        self._is_reading = False
        self._is_requested = False
        self._handler: Any = None  # of the caller

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
        else:
            self._is_requested = True
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
    handler: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    frames: list[FrameType | None] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if frames:
            handler(number, frame)
        frames.append(frame)

    signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if frames:
        handler(signal.SIGINT, frames[0])
