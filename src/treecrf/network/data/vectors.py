"""Pretrained word vectors in the text formats of GloVe and word2vec, plain or gzipped."""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from treecrf import TreecrfError
from treecrf.arrays import Floats

_LINES_PER_BLOCK = 10_000


class VectorError(TreecrfError, ValueError):
    """A file that does not contain word vectors."""


@dataclass(frozen=True)
class Vectors:
    """Words and their vectors in the order of the file; the first vector of a repeated word counts."""

    words: list[str]
    matrix: Floats  # (words, size)
    duplicates: int  # lines that were skipped because their word is repeated

    @property
    def size(self) -> int:
        return int(self.matrix.shape[1])


class _Line(NamedTuple):
    number: int
    word: str
    values: str


def read_vectors(path: str | Path) -> Vectors:
    """Reads a text file with a word and its numbers on each line, with or without a header line of counts."""
    path = Path(path)
    counts = Counter[str]()  # lines of each word

    def is_first(line: _Line) -> bool:
        counts[line.word] += 1
        return counts[line.word] == 1

    lines = filter(is_first, _read_lines(path))
    blocks = []
    while block := list(islice(lines, _LINES_PER_BLOCK)):
        blocks.append(_parse_block(path, block))
    matrix = np.concatenate(blocks) if blocks else np.zeros((0, 0), np.float32)
    return Vectors(list(counts), matrix, duplicates=counts.total() - len(counts))


def _read_lines(path: Path) -> Iterator[_Line]:
    """The lines with vectors, each with as many numbers as the first."""
    texts = _read_texts(path)
    first = next(texts, None)
    if first is None:
        raise VectorError(f"{path} is empty; expected a word and its vector on each line")
    fields = first.split(" ")
    has_header = len(fields) == 2 and all(field.isdecimal() for field in fields)
    size = int(fields[1]) if has_header else len(fields) - 1
    words = 0
    for number, text in enumerate(texts if has_header else chain([first], texts), 1 + has_header):
        if text:
            yield _split_line(path, number, text, size)
            words += 1
    if has_header and int(fields[0]) != words:
        raise VectorError(f"{path} has {words} words, but its first line says {fields[0]}; is the file truncated?")


def _read_texts(path: Path) -> Iterator[str]:
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):  # noqa: B007  # the error messages need the number
                yield line.decode("utf-8").strip(" \t\r\n").replace("\t", " ")
    except UnicodeDecodeError as error:
        raise VectorError(f"{path}, line {number}: not UTF-8 text ({error.reason}); expected a text file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise VectorError(f"{path}, after line {number}: the gzip stream is broken ({error})") from error


def _split_line(path: Path, number: int, text: str, size: int) -> _Line:
    """Splits a line into a word, which contains spaces in some files, and `size` numbers."""
    word, _, values = text.partition(" ")
    if values and values.count(" ") + 1 == size:
        return _Line(number, word, values)
    fields = text.split()
    words, numbers = fields[: len(fields) - size], fields[len(fields) - size :]
    if size < 1 or not words or len(fields) <= size or (len(words) > 1 and _is_number(words[-1])):
        raise VectorError(
            f"{path}, line {number}: {len(fields) - 1} numbers for {fields[0]!r:.40}; expected {max(1, size)}"
        )
    return _Line(number, " ".join(words), " ".join(numbers))


def _parse_block(path: Path, lines: list[_Line]) -> Floats:
    with suppress(ValueError):
        block = np.loadtxt([line.values for line in lines], dtype=np.float32, ndmin=2, comments=None)
        if np.isfinite(block).all():
            return block
    for line in lines:
        for field in line.values.split(" "):
            if not _is_number(field) or not abs(float(field)) < float(np.finfo(np.float32).max):
                raise VectorError(
                    f"{path}, line {line.number}: {field!r:.40} in the vector of {line.word!r:.40} is not a number"
                )
    raise VectorError(f"{path}, lines {lines[0].number} to {lines[-1].number}: not all values are numbers")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
