"""Reads trees to draw: brackets, or lines of `treecrf parse --format json` with probabilities."""

import gzip
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from treecrf.files import DECOMPRESSION_ERRORS, open_stream, source_name
from treecrf.trees.drawing.colors import check_probabilities
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees


class DrawableTree(NamedTuple):
    """A tree, and the probabilities of its constituents if they are known."""

    tree: Tree
    probabilities: Sequence[float] | None = None


def begins_with_trees(source: str) -> bool:
    """Whether an input begins like a tree or JSON, and not like raw text. Standard input can still be read after it."""
    with _undamaged(source), open_stream(source) as stream:
        is_piped_gzip = source == "-" and isinstance(getattr(stream, "raw", None), gzip.GzipFile)
        return is_piped_gzip or not hasattr(stream, "peek") or _start(stream)[:1] in b"({"


@contextmanager
def _undamaged(source: str) -> Iterator[None]:
    try:
        yield
    except DECOMPRESSION_ERRORS as error:
        raise ValueError(f"{source_name(source)}: the compressed data is damaged: {error}") from error


def _start(lines: Any) -> bytes:
    start: bytes = lines.peek(1)
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()


def read_drawable_trees(source: str) -> Iterator[DrawableTree]:
    """Reads the trees of a file, plain or gzipped, or of standard input (`-`)."""
    with _undamaged(source), open_stream(source) as stream:
        lines = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        if _start(lines).startswith((b"{", b"null")):
            yield from _read_json_lines(lines, source_name(source))
        else:
            yield from map(DrawableTree, read_trees(lines))


def _read_json_lines(lines: Iterable[bytes], name: str) -> Iterator[DrawableTree]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig"))
            sentences = value.get("sentences", [value]) if value is not None else []
            yield from map(_from_json, sentences)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else error
            raise ValueError(f"{name}:{number}: {reason}; expected a line of `treecrf parse --format json`") from error


def _from_json(sentence: dict[str, Any]) -> DrawableTree:
    tree = Tree.parse(sentence["tree"])
    probabilities = [
        span.get("calibrated", span["probability"]) for span in sentence.get("spans", ()) if "probability" in span
    ]
    return DrawableTree(tree, check_probabilities(probabilities or None, len(tree.spans())))


def select_trees(trees: Sequence[DrawableTree], numbers: str, name: str) -> list[DrawableTree]:
    """The trees with the given numbers, counted from 1, such as `3` or `2,5-7`. `name` is the name of their file."""
    selected: list[DrawableTree] = []
    for part in numbers.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if not match:
            raise ValueError(f"--number is {numbers!r}; expected numbers and ranges, such as 3 or 2,5-7")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= len(trees):
            raise ValueError(f"--number asks for {part.strip()}; {name} has trees 1 to {len(trees)}")
        selected += trees[first - 1 : last]
    return selected
