"""Trees to files, one a line."""

import gzip
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from treecrf.tree import Tree


def write_trees(path: str | os.PathLike[str], trees: Iterable[Tree]) -> int:
    """Write trees one a line, compressed if the name ends in `.gz`, and return how many there were.

    The file appears whole or not at all: the lines go to a file beside it, which takes its name at the end.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a terminal cannot be replaced
        with path.open("wb") as stream:
            return _write(stream, trees)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            number = _write_packed(stream, trees) if path.suffix == ".gz" else _write(stream, trees)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return number


def _write(stream: IO[bytes] | Any, trees: Iterable[Tree]) -> int:
    number = 0
    for tree in trees:
        stream.write(f"{tree}\n".encode())
        number += 1
    return number


def _write_packed(stream: IO[bytes], trees: Iterable[Tree]) -> int:
    # neither name nor date, so that the same trees make the same file
    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        return _write(packed, trees)
