"""Warnings of a command: one line with the name of the command, without a place in the source."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from treecrf.cli.colors import paint


@contextmanager
def one_line_warnings(name: str) -> Iterator[None]:
    """Formats warnings as lines that start with the name of the command, inside the context."""

    def format_warning(message: Warning | str, *_: object, **__: object) -> str:
        return f"{paint(f'{name}:', 'yellow', sys.stderr)} {message}\n"

    before = warnings.formatwarning
    warnings.formatwarning = format_warning
    try:
        yield
    finally:
        warnings.formatwarning = before
