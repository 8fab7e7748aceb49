"""Colors of messages and trees on a terminal. `NO_COLOR` switches them off (https://no-color.org)."""

import os
from typing import IO, Literal

_CODES = {"red": "1;31", "yellow": "33", "blue": "34"}


def has_colors(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that shows colors."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, color: Literal["red", "yellow", "blue"], stream: IO[str]) -> str:
    """The text in a color, if the stream shows colors."""
    return f"\x1b[{_CODES[color]}m{text}\x1b[0m" if has_colors(stream) else text
