"""Writes trees to files, one tree per line."""

import gzip
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from treecrf.files import open_atomic
from treecrf.trees.tree import Tree


def write_trees(path: str | os.PathLike[str], trees: Iterable[Tree]) -> int:
    """Writes trees atomically, one per line, compressed if the name ends in `.gz`, and returns their number."""
    path = Path(path).resolve()  # a symbolic link stays, and the file that it points to is replaced
    with open_atomic(path) as stream:
        if path.suffix != ".gz":
            return _write_lines(stream, trees)
        # without a name and a date, the same trees make the same file
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as compressed:
            return _write_lines(compressed, trees)


def _write_lines(stream: IO[bytes] | gzip.GzipFile, trees: Iterable[Tree]) -> int:
    count = 0
    for tree in trees:
        stream.write(f"{tree}\n".encode())
        count += 1
    return count
