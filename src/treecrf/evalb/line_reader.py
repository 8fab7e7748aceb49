"""Reads files of trees as EVALB does, one tree per line; trees that span several lines are joined."""

import gzip
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

STDIN = "-"


def read_lines(name: str) -> list[str]:
    """The lines of a file, plain or gzipped, or of standard input. Bytes that are not UTF-8 become surrogates."""
    data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error) as error:
            raise ValueError(f"{name}: damaged gzip file: {error}") from error
    text = re.sub("\0.*", "", data.decode("utf-8-sig", "surrogateescape"))  # a zero byte ends a line in C
    lines = text.removesuffix("\n").split("\n") if text else []
    return list(_join_trees(lines)) if _has_indented_trees(lines) else lines


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
