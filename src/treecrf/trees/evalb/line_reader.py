"""Reads files of trees as EVALB does, one tree per line; trees that span several lines are joined."""

import gzip
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

STDIN = "-"
_END = " \t\n\v\f\r()"  # characters that end a label or a word
_LABEL_WITH_ZERO = re.compile(rf"(\([^{_END}\0]*)\0[^{_END}]*")
_WORD_WITH_ZERO = re.compile(rf"(\([^{_END}]*[ \t\v\f\r]+[^{_END}\0]*)\0[^{_END}]*(?=\))")


def read_lines(name: str) -> list[str]:
    """The lines of a file, plain or gzipped, or of standard input. Bytes that are not UTF-8 become surrogates."""
    data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error) as error:
            raise ValueError(f"{name}: damaged gzip file: {error}") from error
    text = data.decode("utf-8-sig", "surrogateescape")
    lines = text.removesuffix("\n").split("\n") if text else []
    lines = [_cut_zero_bytes(line) if "\0" in line else line for line in lines]
    return list(_join_trees(lines)) if _has_indented_trees(lines) else lines


def _cut_zero_bytes(line: str) -> str:
    """The line that EVALB reads: a zero byte ends a label, the word of a leaf or, elsewhere, the line."""
    line = _WORD_WITH_ZERO.sub(r"\1", _LABEL_WITH_ZERO.sub(r"\1", line))
    return line.partition("\0")[0]


def printable(text: str) -> str:
    """Replaces surrogates, which cannot be printed."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _has_indented_trees(lines: Sequence[str]) -> bool:
    """Whether trees span several lines: their later lines are indented, and all brackets are balanced."""
    depth = 0
    is_indented = False
    for line in lines:
        if depth > 0 and line.startswith("("):
            return False
        is_indented = is_indented or (depth > 0 and line[:1].isspace())
        depth += line.count("(") - line.count(")")
    return is_indented and depth == 0


def _join_trees(lines: Sequence[str]) -> Iterator[str]:
    tree_lines: list[str] = []
    depth = 0
    for line in lines:
        tree_lines.append(line)
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            tree = " ".join(tree_lines).strip()
            if tree:
                yield tree
            tree_lines = []
