"""Reads trees from files as a stream, one tree in memory at a time."""

import json
import logging
from collections.abc import Iterator
from typing import Literal

from treecrf import TreecrfError
from treecrf.files import DECOMPRESSION_ERRORS, Source, source_name
from treecrf.trees.notation import BracketError
from treecrf.trees.tree import Tree, parse_trees
from treecrf.trees.treebank.lines import Line, check_encoding, read_lines
from treecrf.trees.treebank.splitter import split_trees

OnError = Literal["raise", "skip"]

_logger = logging.getLogger(__name__)


class TreebankError(TreecrfError, ValueError):
    """A tree that cannot be read: the file's `name`, the `line`, and the `reason`."""

    def __init__(self, name: str, line: int, reason: str) -> None:
        super().__init__(name, line, reason)
        self.name = name
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name}:{self.line}: {self.reason}"


class TreeReader(Iterator[Tree]):
    """Iterates over the trees of one file; `skipped` counts the unreadable trees so far."""

    def __init__(self, source: Source, *, encoding: str | None = None, on_error: OnError = "raise") -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error is {on_error!r}; expected 'raise' or 'skip'")
        self.name = source_name(source)
        self.skipped = 0
        self._on_error = on_error
        self._lines = read_lines(source, encoding and check_encoding(encoding))
        self._trees = self._read()

    def __next__(self) -> Tree:
        return next(self._trees)

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yields the text of each tree, or of several that share a line, with the number of its first line."""
        for first, text, problem in split_trees(self._wrap_errors(self._lines)):
            if problem:
                self._fail(*problem)
            else:
                yield first, text

    def parse(self, first: int, text: str) -> list[Tree]:
        """Parses the text of trees that starts at a line; an unreadable one raises an error or is skipped."""
        try:
            return list(parse_trees(text))
        except BracketError as error:
            self._fail(first + error.line - 1, error.reason)
            return []

    def _read(self) -> Iterator[Tree]:
        for first, text in self.texts():
            yield from self.parse(first, text)

    def _wrap_errors(self, lines: Iterator[Line]) -> Iterator[Line]:
        """Lines of brackets; damaged compressed data is a `TreebankError`, which cannot be skipped."""
        number = 0
        try:
            for text, problem in lines:
                number += 1
                yield (self._brackets(text, number) if text.startswith("{") else text), problem
        except DECOMPRESSION_ERRORS as error:
            raise TreebankError(self.name, number + 1, f"the compressed data is damaged: {error}") from error
        except UnicodeDecodeError as error:
            raise TreebankError(self.name, number + 1, str(error)) from error

    def _brackets(self, line: str, number: int) -> str:
        """The brackets of the trees in a line of `treecrf parse --format json`."""
        try:
            record = json.loads(line)
            trees = (sentence["tree"] for sentence in record.get("sentences", [record]))
            return " ".join(tree for tree in trees if tree is not None) + "\n"
        except (ValueError, KeyError, TypeError, AttributeError):
            self._fail(number, "expected a tree in brackets, or a line of `treecrf parse --format json`")
            return "\n"

    def _fail(self, line: int, reason: str) -> None:
        error = TreebankError(self.name, line, reason)
        if self._on_error == "raise":
            raise error
        self.skipped += 1
        _logger.warning("skipped %s", error)


def read_trees(source: Source, *, encoding: str | None = None, on_error: OnError = "raise") -> TreeReader:
    """Reads the trees of a file: a path, an open stream, or "-" for standard input.

    A tree may have one line or many, and the SGML lines of the Chinese Treebank may be between trees. Gzip files are
    decompressed. The default encoding is UTF-8 or GB18030, detected from the bytes. An unreadable tree raises
    `TreebankError`; with `on_error="skip"` it is logged and counted instead.

    >>> import io
    >>> trees = read_trees(io.StringIO("(TOP (NN cat))\\n(TOP (NN dog)\\n(TOP (NN cow))\\n"), on_error="skip")
    >>> [tree.words for tree in trees], trees.skipped
    ([['cat'], ['cow']], 1)
    """
    return TreeReader(source, encoding=encoding, on_error=on_error)
