"""Pretrained word vectors in the text formats of GloVe and word2vec, plain or gzipped."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Floats

_LINES_PER_BLOCK = 10_000


class VectorError(ValueError):
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
    rows: dict[str, int] = {}
    blocks: list[Floats] = []
    duplicates = 0
    size = 0
    lines: list[_Line] = []
    for line in _read_lines(path):
        size = size or line.values.count(" ") + 1
        if line.word in rows:
            duplicates += 1
            continue
        rows[line.word] = len(rows)
        lines.append(line)
        if len(lines) == _LINES_PER_BLOCK:
            blocks.append(_parse_block(path, lines, size))
            lines = []
    blocks.append(_parse_block(path, lines, size))
    return Vectors(list(rows), np.concatenate(blocks), duplicates)


def _read_lines(path: Path) -> Iterator[_Line]:
    """The lines with vectors, each with as many numbers as the first."""
    texts = _read_texts(path)
    first = next(texts, None)
    if first is None:
        raise VectorError(f"{path} is empty; expected a word and its vector on each line")
    expected_words, size = _parse_header(first)
    words = 0
    if expected_words is None:
        size = len(first.split(" ")) - 1
        yield _split_line(path, 1, first, size)
        words = 1
    for number, text in enumerate(texts, 2):
        if text:
            yield _split_line(path, number, text, size)
            words += 1
    if expected_words is not None and expected_words != words:
        raise VectorError(f"{path} has {words} words, but its first line says {expected_words}; is the file truncated?")


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


def _parse_header(line: str) -> tuple[int | None, int]:
    """The number of words and of dimensions in a header line of word2vec; None and 0 for another line."""
    fields = line.split(" ")
    if len(fields) == 2 and all(field.isdecimal() for field in fields):
        return int(fields[0]), int(fields[1])
    return None, 0


def _split_line(path: Path, number: int, text: str, size: int) -> _Line:
    word, _, values = text.partition(" ")
    if size < 1 or values.count(" ") + 1 != size or not values:
        word, values = _split_word_with_spaces(path, number, text, size)
    return _Line(number, word, values)


def _split_word_with_spaces(path: Path, number: int, text: str, size: int) -> tuple[str, str]:
    """Splits a line whose word contains spaces, as in some files; raises an error for any other line."""
    fields = text.split()
    word, values = fields[: len(fields) - size], fields[len(fields) - size :]
    if size < 1 or not word or len(fields) <= size or (len(word) > 1 and _is_number(word[-1])):
        raise VectorError(
            f"{path}, line {number}: {len(fields) - 1} numbers for {fields[0]!r:.40}; expected {max(1, size)}"
        )
    return " ".join(word), " ".join(values)


def _parse_block(path: Path, lines: list[_Line], size: int) -> Floats:
    if not lines:
        return np.zeros((0, size), dtype=np.float32)
    try:
        block = np.loadtxt([line.values for line in lines], dtype=np.float32, ndmin=2, comments=None)
    except ValueError:
        block = np.full((1, 1), np.nan, dtype=np.float32)
    if not np.isfinite(block).all():
        raise _find_error(path, lines)
    return block


def _find_error(path: Path, lines: list[_Line]) -> VectorError:
    for line in lines:
        for field in line.values.split(" "):
            if not _is_number(field) or not abs(float(field)) < float(np.finfo(np.float32).max):
                return VectorError(
                    f"{path}, line {line.number}: {field!r:.40} in the vector of {line.word!r:.40} is not a number"
                )
    return VectorError(f"{path}, lines {lines[0].number} to {lines[-1].number}: not all values are numbers")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
