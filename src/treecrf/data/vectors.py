"""Pretrained word vectors: the text formats of GloVe and word2vec, plain or gzipped."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_LINES_AT_ONCE = 10_000


class VectorError(ValueError):
    """A file that does not hold word vectors."""


@dataclass(frozen=True)
class Vectors:
    """Words and their vectors, in the order of the file; of a repeated word the first counts."""

    words: list[str]
    matrix: npt.NDArray[np.float32]  # (words, size)
    duplicates: int  # lines left out because their word came before

    @property
    def size(self) -> int:
        return int(self.matrix.shape[1])


class _Line(NamedTuple):
    number: int
    word: str
    numbers: str


def read_vectors(path: str | Path) -> Vectors:
    """The vectors of a text file: a word and its numbers on each line, perhaps after a line with their counts."""
    path = Path(path)
    rows: dict[str, int] = {}
    blocks: list[npt.NDArray[np.float32]] = []
    duplicates = 0
    size = 0
    lines: list[_Line] = []
    for line in _vector_lines(path):
        size = size or line.numbers.count(" ") + 1
        if line.word in rows:
            duplicates += 1
            continue
        rows[line.word] = len(rows)
        lines.append(line)
        if len(lines) == _LINES_AT_ONCE:
            blocks.append(_parse(path, lines, size))
            lines = []
    blocks.append(_parse(path, lines, size))
    return Vectors(list(rows), np.concatenate(blocks), duplicates)


def _vector_lines(path: Path) -> Iterator[_Line]:
    """Lines in parts, each with as many numbers as the first."""
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise VectorError(f"{path} is empty; expected a word and its vector on each line")
    count, size = _header(first)
    found = 0
    if count is None:
        fields = first.split(" ")
        size = len(fields) - 1
        yield _split(path, 1, first, size)
        found = 1
    for number, text in enumerate(lines, 2):
        if text:
            yield _split(path, number, text, size)
            found += 1
    if count is not None and count != found:
        raise VectorError(f"{path} says in its first line that it has {count} words, but has {found}; is it cut off?")


def _lines(path: Path) -> Iterator[str]:
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):  # noqa: B007  # the number is for what goes wrong
                yield line.decode("utf-8").strip(" \t\r\n").replace("\t", " ")
    except UnicodeDecodeError as error:
        raise VectorError(f"{path}, line {number}: not UTF-8 text ({error.reason}); expected a text file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise VectorError(f"{path}, after line {number}: the gzip stream is broken ({error})") from error


def _header(line: str) -> tuple[int | None, int]:
    fields = line.split(" ")
    if len(fields) == 2 and all(field.isdecimal() for field in fields):
        return int(fields[0]), int(fields[1])
    return None, 0


def _split(path: Path, number: int, text: str, size: int) -> _Line:
    word, _, numbers = text.partition(" ")
    if size < 1 or numbers.count(" ") + 1 != size or not numbers:
        word, numbers = _split_oddly(path, number, text, size)
    return _Line(number, word, numbers)


def _split_oddly(path: Path, number: int, text: str, size: int) -> tuple[str, str]:
    """A line whose word has spaces in it, which some files have; anything else is an error."""
    fields = text.split()
    word, numbers = fields[: len(fields) - size], fields[len(fields) - size :]
    if size < 1 or not word or len(fields) <= size or (len(word) > 1 and _is_number(word[-1])):
        raise VectorError(
            f"{path}, line {number}: {len(fields) - 1} numbers for {fields[0]!r:.40}; expected {max(1, size)}"
        )
    return " ".join(word), " ".join(numbers)


def _parse(path: Path, lines: list[_Line], size: int) -> npt.NDArray[np.float32]:
    if not lines:
        return np.zeros((0, size), dtype=np.float32)
    try:
        block = np.loadtxt([line.numbers for line in lines], dtype=np.float32, ndmin=2, comments=None)
    except ValueError:
        block = np.full((1, 1), np.nan, dtype=np.float32)
    if not np.isfinite(block).all():
        raise _diagnose(path, lines)
    return block


def _diagnose(path: Path, lines: list[_Line]) -> VectorError:
    for line in lines:
        for field in line.numbers.split(" "):
            if not _is_number(field) or not abs(float(field)) < float(np.finfo(np.float32).max):
                return VectorError(
                    f"{path}, line {line.number}: {field!r:.40} in the vector of {line.word!r:.40} is no number"
                )
    return VectorError(f"{path}, lines {lines[0].number} to {lines[-1].number}: vectors that are not numbers")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
