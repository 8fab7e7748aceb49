"""A corpus in shards: parts of files that are parsed apart, each into a file of its own.

A shard is a whole number of the blocks in which one process would parse its file, so its lines are parsed beside the
same others as there: the outputs of a file's shards, one after the other, are the output of the file.
"""

import gzip
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple

from treecrf.bulk.inputs import lines_of
from treecrf.bulk.records import Fields, Line, is_parquet, open_parquet, read_rows
from treecrf.parser.inputs import DEFAULT_BATCHING
from treecrf.treebank.lines import opened

STEP = lcm(*(pace.window for pace in DEFAULT_BATCHING.values()))  # lines, blocks of every device end there
_CHUNK = 1 << 20


class Shard(NamedTuple):
    """Some lines or records of an input, and the file for their trees."""

    source: str
    first: int  # of its lines, from 0
    lines: int
    offset: int  # of the first line, in unpacked bytes; Parquet has none
    output: str  # below the folder of the run

    @property
    def name(self) -> str:
        """Which lines of which input, for messages."""
        return f"{self.source}, lines {self.first + 1:,} to {self.first + self.lines:,}"


def cut(source: str, target: Path, lines: int) -> list[Shard]:
    """The shards of an input, of so many lines each but the last; an empty input is one shard."""
    total, starts = _count_rows(source, lines) if is_parquet(source) else _count_lines(source, lines)
    return [
        Shard(source, first, min(lines, total - first), start, str(_numbered(target, number)))
        for number, (first, start) in enumerate(zip(range(0, max(total, 1), lines), starts, strict=False))
    ]


def _numbered(target: Path, number: int) -> Path:
    """`a.mrg.gz` becomes `a-000007.mrg.gz`."""
    suffix = "".join(target.suffixes[-2:]) if target.suffix == ".gz" else target.suffix
    return target.with_name(f"{target.name.removesuffix(suffix)}-{number:06}{suffix}")


def _count_rows(source: str, step: int) -> tuple[int, list[int]]:
    with open_parquet(source) as file:
        total = int(file.metadata.num_rows)
    return total, [0] * (total // step + 1)


def _count_lines(source: str, step: int) -> tuple[int, list[int]]:
    """How many lines there are, and where every one begins whose number `step` divides."""
    starts, lines, position, last = [0], 0, 0, b"\n"
    with opened(source) as stream:
        try:
            while chunk := stream.read(_CHUNK):
                place, here = 0, chunk.count(b"\n")
                while lines + here >= step * len(starts):
                    for _ in range(step * len(starts) - lines):
                        place = chunk.index(b"\n", place) + 1
                    here -= step * len(starts) - lines
                    lines = step * len(starts)
                    starts.append(position + place)
                lines += here
                position += len(chunk)
                last = chunk[-1:]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{source}:{lines + 1}: the compressed data is damaged: {error}") from error
    return lines + (last != b"\n"), starts


class ShardQueue:
    """Shards that wait for workers, each of whom stays with one input while there is any of it."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self._fresh: dict[str, deque[Shard]] = {}
        self._begun: dict[str, deque[Shard]] = {}
        for shard in shards:
            self._fresh.setdefault(shard.source, deque()).append(shard)

    def __bool__(self) -> bool:
        return bool(self._fresh or self._begun)

    def take(self, source: str) -> Shard:
        """The next shard for a worker that has read `source` last."""
        if source not in self._begun and self._fresh:
            source = next(iter(self._fresh))
            self._begun[source] = self._fresh.pop(source)
        elif source not in self._begun:
            source = max(self._begun, key=lambda other: len(self._begun[other]))
        shard = self._begun[source].popleft()
        if not self._begun[source]:
            del self._begun[source]
        return shard

    def put_back(self, shard: Shard) -> None:
        """Let somebody else try."""
        self._begun.setdefault(shard.source, deque()).appendleft(shard)


class ShardReader:
    """Reads shards; the last file stays open, for one that is compressed can only be read on from where one is."""

    def __init__(self, fields: Fields, *, limit: int) -> None:
        self._fields = fields
        self._limit = limit
        self._path = ""
        self._file = ExitStack()
        self._stream: Any = None

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._path = ""

    def lines(self, shard: Shard) -> Iterator[Line]:
        """The lines of a shard; what has become shorter since it was cut is an error."""
        found = 0
        for line in self._lines(shard):
            found += 1
            yield line
        if found < shard.lines:
            raise ValueError(
                f"{shard.source} ends at line {shard.first + found:,}; it has lost lines since the run began"
            )

    def _lines(self, shard: Shard) -> Iterator[Line]:
        if is_parquet(shard.source):
            return read_rows(shard.source, self._fields, limit=self._limit, first=shard.first, count=shard.lines)
        if shard.source != self._path:
            self.close()
            self._stream = self._file.enter_context(opened(shard.source))
            self._path = shard.source
        self._stream.seek(shard.offset)
        lines = lines_of(self._stream, shard.source, limit=self._limit, fields=self._fields, number=shard.first)
        return islice(lines, shard.lines)
