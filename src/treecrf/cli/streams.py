"""Standard streams that the caller has closed, such as by `2>&-`.

Python has None in place of such a stream, and the operating system gives its number to the next file that is opened:
messages could be written into an output file.
"""

import os
import sys
from typing import IO

_NAMES = ("standard input", "standard output", "standard error")


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
    for number, name in enumerate(_NAMES):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            _replace_stream(number, name)


def _replace_stream(number: int, name: str) -> None:
    closed: IO[str] = _ClosedStream(name)  # type: ignore[assignment]  # only what commands use
    if number == 0:
        sys.stdin = closed
    elif number == 1:
        sys.stdout = closed
    else:
        sys.stderr = open(number, "w", closefd=False)  # noqa: SIM115  # open until the process ends


def discard_stdout() -> None:
    """Discards what is not written yet, so that the flush at exit does not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
