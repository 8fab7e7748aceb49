"""The terminal of a command: standard streams, colors, messages and warnings, progress bars, and Ctrl-C.

The caller may have closed a standard stream, such as by `2>&-`. Python has None in its place, and the operating system
gives its number to the next file that is opened: messages could be written into an output file. `NO_COLOR` switches
colors off (https://no-color.org).
"""

import io
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from types import FrameType
from typing import IO, Any, Literal, TypeVar

T = TypeVar("T")

INTERRUPTED = 130  # exit status of a command that SIGINT has ended
_INTERRUPT_MESSAGE = "interrupted; the current lines are finished first (Ctrl-C again stops at once)"
_REFRESH_SECONDS = 1.0  # seconds between two refreshes of a progress bar
_STREAM_NAMES = ("standard input", "standard output", "standard error")
_COLOR_CODES = {"red": "1;31", "yellow": "33", "blue": "34"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# in UTF-8; colors and line ends stay
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\r(?!\n)|\x1b(?!\[[\d;]*m)|\xc2[\x80-\x9f]")


def has_colors(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that shows colors."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, color: Literal["red", "yellow", "blue"], stream: IO[str]) -> str:
    """The text in a color, if the stream shows colors."""
    return f"\x1b[{_COLOR_CODES[color]}m{text}\x1b[0m" if has_colors(stream) else text


def escape_controls(text: str) -> str:
    """The text with escapes for control characters, with which a file name could change the terminal."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _message_line(command: str, message: object) -> str:
    return f"{paint(f'{command}:', 'yellow', sys.stderr)} {escape_controls(str(message))}"


class _TerminalBuffer(io.BufferedWriter):
    """Standard output on a terminal: words may have control characters, which are shown as escapes."""

    def write(self, data: Any) -> int:
        super().write(_CONTROL_BYTES.sub(lambda match: b"\\x%02x" % match[0][-1], bytes(data)))
        return len(data)


def print_message(command: str, message: str) -> None:
    """Prints a message to standard error, after the name of the command."""
    print(_message_line(command, message), file=sys.stderr, flush=True)


@contextmanager
def one_line_warnings(command: str) -> Iterator[None]:
    """Formats warnings as messages of the command, without a place in the source."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"{_message_line(command, message)}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


class _ClosedStream:
    """Stands for a closed stream: reading from it and writing to it are errors with its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        raise OSError(f"{self._name} is closed; name a file instead")

    def isatty(self) -> bool:
        return False

    def flush(self) -> None:
        """Does nothing: nothing was written."""


def open_standard_streams() -> None:
    """Replaces closed standard streams, and a terminal. Messages for a closed standard error are discarded."""
    for number, name in enumerate(_STREAM_NAMES):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            closed: IO[str] = _ClosedStream(name)  # type: ignore[assignment]  # has the methods that commands call
            if number == 0:
                sys.stdin = closed
            elif number == 1:
                sys.stdout = closed
            else:
                sys.stderr = open(number, "w", closefd=False)  # noqa: SIM115  # open until the process ends
    if sys.stdout.isatty():
        terminal = _TerminalBuffer(open(1, "wb", buffering=0, closefd=False))  # noqa: SIM115  # open until the process ends
        sys.stdout = io.TextIOWrapper(terminal, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)


def discard_stdout() -> None:
    """Discards unwritten output, so that the flush at exit does not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class TerminalBar:
    """A bar on standard error, if it is a terminal, with messages above it. `bar_format` is a format of tqdm."""

    def __init__(self, total: int | None, bar_format: str, *, is_shown: bool = True) -> None:
        self._bar: Any = None
        if is_shown and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, bar_format=bar_format, dynamic_ncols=True, mininterval=0)

    def show(self, done: int, total: int | None, text: str, *, title: str = "") -> None:
        """Sets the length of the bar and the texts beside it."""
        if self._bar is not None:
            with self._bar.get_lock():
                self._bar.n, self._bar.total = done, total
                self._bar.set_description_str(title, refresh=False)
                self._bar.set_postfix_str(text, refresh=False)
                self._bar.refresh(nolock=True)

    def print_message(self, print_line: Callable[[str], object], message: str) -> None:
        """Prints a message above the bar."""
        if self._bar is None:
            print_line(message)
            return
        with self._bar.get_lock():
            self._bar.clear(nolock=True)
            print_line(message)
            self._bar.refresh(nolock=True)

    def close(self) -> None:
        """Leaves the bar on the terminal as it is."""
        if self._bar is not None:
            self._bar.close()


class ProgressBar(TerminalBar):
    """Shows a progress bar, which is refreshed once a second.

    `total` is the work of the whole run in some unit, such as bytes; without it, the time left is unknown. `unit` is
    the name of the things that are counted, such as sentences.
    """

    def __init__(self, total: int | None, *, unit: str, is_shown: bool = True) -> None:
        super().__init__(total, "{percentage:3.0f}% {bar} {postfix}" if total else "{postfix}", is_shown=is_shown)
        self._total = total
        self._unit = unit
        self._count = self._work = self._skipped_work = 0
        self._started = self._refreshed = time.monotonic()

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        self._refresh()
        self.close()

    def add(self, count: int, work: int) -> None:
        """Counts sentences and their work. Work without sentences was done by an earlier run."""
        if not count:
            self._skipped_work += work
        self.set(self._count + count, self._work + work)

    def set(self, count: int, work: int) -> None:
        """Sets the numbers of sentences and of work that are done."""
        self._count, self._work = count, work
        if time.monotonic() - self._refreshed >= _REFRESH_SECONDS:
            self._refresh()

    def text(self) -> str:
        """The progress in words: 1,200 sentences, 400 sentences/s, 0:01:01 left."""
        seconds = time.monotonic() - self._started
        own_work, end = self._work - self._skipped_work, f"{round(seconds):,} s"
        if self._total and own_work > 0:
            end = f"{timedelta(seconds=round(max(self._total - self._work, 0) * seconds / own_work))} left"
        rate = self._count / seconds if seconds else 0.0
        return f"{self._count:,} {self._unit}, {rate:,.{0 if rate >= 10 else 1}f} {self._unit}/s, {end}"

    def _refresh(self) -> None:
        self._refreshed = time.monotonic()
        self.show(min(self._work, self._total) if self._total else self._work, self._total, self.text())


@contextmanager
def exit_on_interrupt(name: str) -> Iterator[None]:
    """Ends the process at Ctrl-C with one line and status 130. A second Ctrl-C ends it at once.

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
        raise SystemExit(INTERRUPTED) from None
    finally:
        if signal.getsignal(signal.SIGINT) is _raise_once:  # after a Ctrl-C, the next one ends the process at once
            signal.signal(signal.SIGINT, old_handler)


def _raise_once(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
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
                self._warn(_INTERRUPT_MESSAGE)

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
