"""Where trees begin and end in the lines of a file."""

import re
from collections.abc import Iterable, Iterator

from treecrf.treebank.lines import Line

# a node with this label is never inside another
ROOTS = frozenset({"", "ROOT", "S0", "S1", "TOP", "VROOT"})
_TAGS = re.compile(r"\s*(?:<[^<>]+>\s*)+")
_CLOSING_TAGS = re.compile(r"(?<=\))\s*(?:</[^<>()]+>\s*)+$")
_LABEL = re.compile(r"\s*\(\s*([^\s()]*)")


# the first line's number, the lines of one tree, or of several that share lines, and where and why they are no tree
Chunk = tuple[int, str, tuple[int, str] | None]


def split_trees(lines: Iterable[Line]) -> Iterator[Chunk]:
    """Group lines into trees; lines of markup and headers between trees are left out.

    A tree goes on until its brackets are closed. One that lacks some ends where another begins: at a line of markup, or
    at an opening bracket as far left as its own.
    """
    tree = _OpenTree()
    for number, (text, problem) in enumerate(lines, 1):
        is_whole = text.startswith("(") and text.endswith((")\n", ")")) and text.count("(") == text.count(")")
        if is_whole and not problem and not tree.lines:
            yield number, text, None
            continue
        if tree.is_over_at(text):
            yield tree.take(f"line {number}")
        if not tree.lines:
            text = tree.without_markup(text)
            if not text:
                continue
        tree.add(number, text, problem)
        if tree.depth <= 0:
            yield tree.take()
    if tree.lines:
        yield tree.take("the end of the file")


class _OpenTree:
    """The lines since the last tree was complete."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self._first = 0
        self._problem: tuple[int, str] | None = None
        self._has_words = False
        self._after_blank = False
        self._is_flat = False  # its lines have no indentation
        self._in_markup = False  # the file has markup

    def without_markup(self, line: str) -> str:
        """What a line between trees holds of one."""
        if line.startswith("("):
            return line
        tags = _TAGS.match(line)
        if tags:
            self._in_markup = True
            rest = line[tags.end() :]
            return rest if rest.startswith("(") else ""
        is_header = self._in_markup and "(" not in line and ")" not in line
        return "" if is_header or line.isspace() else line

    def is_over_at(self, line: str) -> bool:
        """Whether another tree begins at a line, or markup that cannot be inside a tree."""
        if not self.lines:
            return False
        start = line.lstrip()
        after_blank, self._after_blank = self._after_blank, not start
        if not start.startswith("("):
            return start.startswith("<") and _TAGS.fullmatch(line) is not None
        if len(line) - len(start) > len(self.lines[0]) - len(self.lines[0].lstrip()):
            return False
        label = _label(line)
        if after_blank or (label in ROOTS and label == _label(self.lines[0])):
            return True
        self._is_flat = self._is_flat or not self._has_words
        return not self._is_flat

    def add(self, number: int, line: str, problem: str) -> None:
        if not self.lines:
            self._first = number
        if problem and not self._problem:
            self._problem = number, problem
        if line.rstrip().endswith(">"):
            line = _CLOSING_TAGS.sub("\n", line)
        self.lines.append(line)
        closed = line.count(")")
        self._has_words = self._has_words or closed > 0
        self.depth += line.count("(") - closed

    def take(self, end: str = "") -> Chunk:
        """The lines so far, which make a tree, or, where there is an `end`, should have made one before it."""
        problem = self._problem
        if end and not problem:
            problem = self._first, f"{self.depth} ')' missing; the tree that starts here is still open at {end}"
        chunk = self._first, "".join(self.lines), problem
        self.lines, self.depth, self._problem = [], 0, None
        self._has_words = self._after_blank = self._is_flat = False
        return chunk


def _label(line: str) -> str:
    match = _LABEL.match(line)
    return match[1] if match else ""
