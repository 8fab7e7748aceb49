"""Splits the lines of a file into trees."""

import re
from collections.abc import Iterable, Iterator

from treecrf.trees.treebank.lines import Line

# labels of roots: a node with such a label is never inside another tree
ROOTS = frozenset({"", "ROOT", "S0", "S1", "TOP", "VROOT"})
_TAGS = re.compile(r"\s*(?:<[^<>]+>\s*)+")
_CLOSING_TAGS = re.compile(r"(?<=\))\s*(?:</[^<>()]+>\s*)+$")
_LABEL = re.compile(r"\s*\(\s*([^\s()]*)")

# the number of the first line; the lines of one tree, or of several that share a line; the line and reason of an error
Chunk = tuple[int, str, tuple[int, str] | None]


def split_trees(lines: Iterable[Line]) -> Iterator[Chunk]:
    """Groups lines into trees; lines of markup and headers between trees are dropped.

    A tree ends when its brackets are closed. If brackets are unbalanced, the layout decides: a tree also ends before
    markup, and before an opening bracket that is indented no more than its own; lines indented below it belong to it.
    """
    tree = _TreeLines()
    for number, (text, problem) in enumerate(lines, 1):
        is_whole = text.startswith("(") and text.endswith((")\n", ")")) and text.count("(") == text.count(")")
        if is_whole and not problem and tree.is_empty:
            yield number, text, None
            continue
        if tree.ends_before(number, text):
            yield tree.take()
        if tree.is_empty:
            text = tree.without_markup(text)
        if text:
            tree.add(number, text, problem)
        if tree.is_complete:
            yield tree.take()
    tree.end("the end of the file")
    if not tree.is_empty:
        yield tree.take()


class _TreeLines:
    """The lines of the current tree."""

    def __init__(self) -> None:
        self._has_markup = False
        self._clear()

    def _clear(self) -> None:
        self._lines: list[str] = []
        self._first = 0
        self._margin = 0  # the indentation of the first line
        self._depth = 0  # open brackets after the last line
        self._problem: tuple[int, str] | None = None
        self._has_words = False
        self._is_indented = False  # lines after the first are indented further
        self._is_flat = False  # lines after the first are not indented further, but belong to the tree
        self._after_blank = False

    @property
    def is_empty(self) -> bool:
        return not self._lines

    @property
    def is_complete(self) -> bool:
        """Whether no later line can belong to the tree."""
        return bool(self._lines) and self._depth == 0 and not self._is_indented and self._lines[0].lstrip()[0] == "("

    def without_markup(self, line: str) -> str:
        """The part of a line between trees that belongs to a tree."""
        if line.startswith("("):
            return line
        tags = _TAGS.match(line)
        if tags:
            self._has_markup = True
            rest = line[tags.end() :]
            return rest if rest.startswith("(") else ""
        is_header = self._has_markup and "(" not in line and ")" not in line
        return "" if is_header or line.isspace() else line

    def ends_before(self, number: int, line: str) -> bool:
        """Whether the current tree ends before this line."""
        if not self._lines:
            return False
        text = line.lstrip()
        after_blank, self._after_blank = self._after_blank, not text
        is_below = len(line) - len(text) > self._margin
        if self._depth <= 0:
            if is_below and text and not after_blank:
                self._problem = self._problem or (number, f"the tree of line {self._first} is closed before this line")
                return False
            return True
        if is_below or not text.startswith(("(", "<")):
            return False
        has_ended = after_blank or self._starts_another(line) if text[0] == "(" else bool(_TAGS.fullmatch(line))
        if has_ended:
            self.end(f"line {number}")
        return has_ended

    def _starts_another(self, line: str) -> bool:
        """Whether a bracket that is indented no more than the tree's own opens another tree."""
        label = _label(line)
        if label in ROOTS and label == _label(self._lines[0]):
            return True
        self._is_flat = self._is_flat or not self._has_words
        return not self._is_flat

    def end(self, position: str) -> None:
        """Records an error if the tree has open brackets at its end."""
        if self._depth > 0 and not self._problem:
            reason = f"{self._depth} ')' missing; the tree that starts here is still open at {position}"
            self._problem = self._first, reason

    def add(self, number: int, line: str, problem: str) -> None:
        """Adds a line to the tree."""
        indentation = len(line) - len(line.lstrip())
        if not self._lines:
            self._first, self._margin = number, indentation
        elif line.strip():
            self._is_indented = self._is_indented or indentation > self._margin
        if problem and not self._problem:
            self._problem = number, problem
        if line.rstrip().endswith(">"):
            line = _CLOSING_TAGS.sub("\n", line)
        self._lines.append(line)
        closing = line.count(")")
        self._has_words = self._has_words or closing > 0
        self._depth += line.count("(") - closing

    def take(self) -> Chunk:
        """Returns the lines of the tree, and starts the next tree."""
        chunk = self._first, "".join(self._lines), self._problem
        self._clear()
        return chunk


def _label(line: str) -> str:
    match = _LABEL.match(line)
    return match[1] if match else ""
