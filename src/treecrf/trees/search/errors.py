"""Errors of patterns and of surgery scripts, with a caret under the place."""

import unicodedata
from typing import Any


class PatternError(ValueError):
    """A pattern that does not parse: the `reason`, the `pattern` and the `offset` of the error in it."""

    def __init__(self, reason: str, pattern: str, offset: int) -> None:
        self.reason = reason
        self.pattern = pattern
        self.offset = offset
        line_start = pattern.rfind("\n", 0, offset) + 1
        line = pattern[line_start:].partition("\n")[0]
        super().__init__(f"{reason}\n  {line}\n  {' ' * _columns(line[: offset - line_start])}^")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.pattern, self.offset)


class SurgeryError(ValueError):
    """An operation that cannot be applied to a tree."""


def _columns(text: str) -> int:
    """The width of a text in a terminal, where an East Asian character takes two columns."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)
