"""The terminal of a command: its standard streams, colors, messages and warnings.

The caller may have closed a standard stream, such as by `2>&-`. Python has None in its place, and the operating system
gives its number to the next file that is opened: messages could be written into an output file. `NO_COLOR` switches
colors off (https://no-color.org).
"""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Literal

_STREAM_NAMES = ("standard input", "standard output", "standard error")
_COLOR_CODES = {"red": "1;31", "yellow": "33", "blue": "34"}


def has_colors(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that shows colors."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, color: Literal["red", "yellow", "blue"], stream: IO[str]) -> str:
    """The text in a color, if the stream shows colors."""
    return f"\x1b[{_COLOR_CODES[color]}m{text}\x1b[0m" if has_colors(stream) else text


def _message_line(command: str, message: object) -> str:
    return f"{paint(f'{command}:', 'yellow', sys.stderr)} {message}"


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
    """Replaces closed standard streams. Messages for a closed standard error are discarded."""
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


def discard_stdout() -> None:
    """Discards unwritten output, so that the flush at exit does not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
