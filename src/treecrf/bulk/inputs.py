"""What a command reads: files, folders, patterns and standard input, line by line within limits."""

import glob
import gzip
import sys
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from treecrf.bulk.records import Fields, Line, from_json, is_json, is_parquet, read_rows
from treecrf.treebank.lines import name_of, opened

STDIN = "-"
_TEXT = Fields()


class Source(NamedTuple):
    """One input, and where its output goes below a folder."""

    path: str  # or STDIN
    relative: Path

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def size(self) -> int | None:
        """Its bytes, if they tell how much there is to read."""
        path = Path(self.path)
        return path.stat().st_size if path.is_file() and path.suffix != ".gz" and not is_parquet(path) else None


def find_sources(inputs: Sequence[str], *, besides: Path | None = None) -> list[Source]:
    """The files that arguments name: files, folders and patterns; but none in the folder `besides`, nor hidden ones."""
    found: list[Source] = []
    for given in inputs:
        sources = list(_expand(given))
        if not sources:
            raise FileNotFoundError(f"there is nothing to read at {given}: no file, folder or pattern has that name")
        found += sources
    if besides is not None and besides.is_dir():
        away = besides.resolve()
        found = [source for source in found if away not in Path(source.path).resolve().parents]
    return found


def _expand(given: str) -> Iterator[Source]:
    path = Path(given)
    if given == STDIN:
        yield Source(given, Path("stdin"))
    elif path.is_dir():
        yield from _files(path.rglob("*"), path)
    elif path.exists() or not glob.has_magic(given):
        if path.exists():
            yield Source(given, Path(path.name))
    else:
        magic = next(place for place, part in enumerate(path.parts) if glob.has_magic(part))
        base = Path(*path.parts[:magic])
        matches = list(base.glob(str(Path(*path.parts[magic:]))))
        yield from _files(chain(matches, *(match.rglob("*") for match in matches)), base)


def _files(paths: Iterable[Path], base: Path) -> Iterator[Source]:
    for path in sorted(set(paths)):
        relative = path.relative_to(base)
        if path.is_file() and not any(part.startswith(".") for part in relative.parts):
            yield Source(str(path), relative)


def read_lines(source: Source, *, limit: int, fields: Fields = _TEXT) -> Generator[Line, None, None]:
    """The lines or records of an input; of a line that is too long no more than `limit` bytes are kept."""
    if is_parquet(source.path):
        yield from read_rows(source.path, fields, limit=limit)
        return
    with opened(source.path) as stream:
        yield from lines_of(stream, source.path, limit=limit, fields=fields)


def lines_of(stream: Any, path: str, *, limit: int, fields: Fields, number: int = 0) -> Iterator[Line]:
    """The lines of a stream, split at line feeds alone, or the records on them; `number` lines stand before them."""
    has_records = is_json(path)
    try:
        while raw := stream.readline(limit + 2):
            number += 1
            line = _line(raw, stream, number, limit)
            yield from_json(line, fields) if has_records else line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{name_of(path)}:{number + 1}: the compressed data is damaged: {error}") from error


def _line(raw: bytes, stream: Any, number: int, limit: int) -> Line:
    size, problem, text = len(raw), "", ""
    content = raw.removesuffix(b"\n").removesuffix(b"\r")
    if len(content) > limit:
        while raw and not raw.endswith(b"\n"):
            raw = stream.readline(1 << 20)
            size += len(raw)
        return Line("", f"a line of {size:,} bytes; the limit is {limit:,}, and --max-line-bytes raises it", size)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        problem = (
            f"byte {error.start + 1} of the line, 0x{content[error.start]:02x}, is not UTF-8 ({error.reason}); "
            "convert the file to UTF-8 first"
        )
    return Line(text.removeprefix("\ufeff") if number == 1 else text, problem, size)


def is_terminal(source: Source) -> bool:
    """Whether somebody types the lines, and waits for an answer to each."""
    return source.path == STDIN and sys.stdin.isatty()
