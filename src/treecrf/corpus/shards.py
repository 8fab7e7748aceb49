"""Shards: parts of input files that are parsed separately, each into its own output file.

A shard has a whole number of the blocks in which one process would parse its file, so its lines are parsed in the same
batches as there. The outputs of a file's shards, concatenated, are the output of the file.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice, repeat
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple

from treecrf.corpus.inputs import Line, RecordFields, has_line_records, is_parquet, read_stream
from treecrf.corpus.records import open_parquet, read_rows
from treecrf.files import DECOMPRESSION_ERRORS, open_stream
from treecrf.parser.pipeline import DEFAULT_BATCHING

# lines; the size of a shard is a multiple of it, and of the blocks of every device
SHARD_STEP = lcm(*(batching.window for batching in DEFAULT_BATCHING.values()))
_CHUNK_BYTES = 1 << 20


class Shard(NamedTuple):
    """Some lines or records of an input, and their output file."""

    source: str
    first: int  # line, from 0
    lines: int
    offset: int  # position of the first line, in uncompressed bytes; 0 for Parquet
    output: str  # below the folder of the run

    @property
    def name(self) -> str:
        """Its lines and its input, for messages."""
        return f"{self.source}, lines {self.first + 1:,} to {self.first + self.lines:,}"


def cut_shards(source: str, target: Path, shard_lines: int) -> list[Shard]:
    """Cuts an input into shards of `shard_lines` lines; the last may have fewer. An empty input is one shard."""
    if not has_line_records(source):
        raise ValueError(f"{source}: --engine ray reads text, JSON lines and Parquet; use --engine one for this file")
    offsets: Iterable[int] = repeat(0)
    if is_parquet(source):
        with open_parquet(source) as file:
            total = file.metadata.num_rows
    else:
        total, offsets = _count_lines(source, shard_lines)
    firsts = range(0, max(total, 1), shard_lines)
    return [
        Shard(source, first, min(shard_lines, total - first), offset, str(_number_path(target, number)))
        for number, (first, offset) in enumerate(zip(firsts, offsets, strict=False))
    ]


def _number_path(target: Path, number: int) -> Path:
    """`a.mrg.gz` becomes `a-000007.mrg.gz`."""
    suffix = "".join(target.suffixes[-2:]) if target.suffix == ".gz" else target.suffix
    return target.with_name(f"{target.name.removesuffix(suffix)}-{number:06}{suffix}")


def _count_lines(source: str, step: int) -> tuple[int, list[int]]:
    """The number of lines, and the offset of every line whose number is a multiple of `step`."""
    offsets, lines, position, last_byte = [0], 0, 0, b"\n"
    with open_stream(source) as stream:
        try:
            while chunk := stream.read(_CHUNK_BYTES):
                index, chunk_lines = 0, chunk.count(b"\n")
                while lines + chunk_lines >= step * len(offsets):
                    for _ in range(step * len(offsets) - lines):
                        index = chunk.index(b"\n", index) + 1
                    chunk_lines -= step * len(offsets) - lines
                    lines = step * len(offsets)
                    offsets.append(position + index)
                lines += chunk_lines
                position += len(chunk)
                last_byte = chunk[-1:]
        except DECOMPRESSION_ERRORS as error:
            raise ValueError(f"{source}:{lines + 1}: the compressed data is damaged: {error}") from error
    return lines + (last_byte != b"\n"), offsets


class ShardQueue:
    """Shards that wait for workers. A worker gets shards of the same input as long as there are any."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self._unstarted: dict[str, deque[Shard]] = {}  # by input
        self._started: dict[str, deque[Shard]] = {}
        for shard in shards:
            self._unstarted.setdefault(shard.source, deque()).append(shard)

    def __bool__(self) -> bool:
        return bool(self._unstarted or self._started)

    def take(self, source: str) -> Shard:
        """Removes and returns the next shard for a worker whose last input was `source`."""
        if source not in self._started and self._unstarted:
            source = next(iter(self._unstarted))
            self._started[source] = self._unstarted.pop(source)
        elif source not in self._started:
            source = max(self._started, key=lambda other: len(self._started[other]))
        shard = self._started[source].popleft()
        if not self._started[source]:
            del self._started[source]
        return shard

    def put_back(self, shard: Shard) -> None:
        self._started.setdefault(shard.source, deque()).appendleft(shard)


class ShardReader:
    """Reads shards. The last file stays open: a compressed file can only be read forward, so the position is kept."""

    def __init__(self, fields: RecordFields, *, limit: int) -> None:
        self._fields = fields
        self._limit = limit
        self._path = ""
        self._file = ExitStack()
        self._stream: Any = None

    def close(self) -> None:
        self._file.close()
        self._path = ""

    def lines(self, shard: Shard) -> Iterator[Line]:
        """Reads the lines of a shard; it is an error if the file has become shorter."""
        count = 0
        for line in self._read(shard):
            count += 1
            yield line
        if count < shard.lines:
            raise ValueError(
                f"{shard.source} ends at line {shard.first + count:,}; it has lost lines since the run started"
            )

    def _read(self, shard: Shard) -> Iterator[Line]:
        if is_parquet(shard.source):
            return read_rows(shard.source, self._fields, limit=self._limit, first=shard.first, count=shard.lines)
        if shard.source != self._path:
            self.close()
            self._stream = self._file.enter_context(open_stream(shard.source))
            self._path = shard.source
        self._stream.seek(shard.offset)
        lines = read_stream(self._stream, shard.source, limit=self._limit, fields=self._fields, number=shard.first)
        return islice(lines, shard.lines)
