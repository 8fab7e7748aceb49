"""Inputs of bulk parsing: files, folders, patterns and standard input, read line by line."""

import glob
import gzip
import sys
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from treecrf.bulk.records import Line, RecordFields, is_json_lines, is_parquet, parse_json_line, read_rows
from treecrf.treebank.lines import open_stream, source_name

STDIN = "-"
_TEXT = RecordFields()


class InputFile(NamedTuple):
    """A file or standard input."""

    path: str  # or STDIN
    relative: Path  # its path below the folder that was named; the output has the same place in the output folder

    @property
    def name(self) -> str:
        """Its name in messages."""
        return source_name(self.path)

    @property
    def size(self) -> int | None:
        """Its size in bytes; None if it is compressed or cannot be known."""
        path = Path(self.path)
        return path.stat().st_size if path.is_file() and path.suffix != ".gz" and not is_parquet(path) else None

    @property
    def is_terminal(self) -> bool:
        """Whether the lines are typed at a terminal."""
        return self.path == STDIN and sys.stdin.isatty()


def find_inputs(arguments: Sequence[str], *, exclude: Path | None = None) -> list[InputFile]:
    """The files that arguments name (files, folders, patterns), without hidden files and the folder `exclude`."""
    inputs: list[InputFile] = []
    for argument in arguments:
        files = list(_expand(argument))
        if not files:
            raise FileNotFoundError(f"nothing to read at {argument}: no file, folder or pattern has that name")
        inputs += files
    if exclude is not None and exclude.is_dir():
        folder = exclude.resolve()
        inputs = [file for file in inputs if folder not in Path(file.path).resolve().parents]
    return inputs


def _expand(argument: str) -> Iterator[InputFile]:
    path = Path(argument)
    if argument == STDIN:
        yield InputFile(argument, Path("stdin"))
    elif path.is_dir():
        yield from _visible_files(path.rglob("*"), path)
    elif path.exists():
        yield InputFile(argument, Path(path.name))
    elif glob.has_magic(argument):
        depth = next(depth for depth, part in enumerate(path.parts) if glob.has_magic(part))
        base = Path(*path.parts[:depth])
        matches = list(base.glob(str(Path(*path.parts[depth:]))))
        yield from _visible_files(chain(matches, *(match.rglob("*") for match in matches)), base)


def _visible_files(paths: Iterable[Path], base: Path) -> Iterator[InputFile]:
    for path in sorted(set(paths)):
        relative = path.relative_to(base)
        if path.is_file() and not any(part.startswith(".") for part in relative.parts):
            yield InputFile(str(path), relative)


def read_lines(file: InputFile, *, limit: int, fields: RecordFields = _TEXT) -> Generator[Line, None, None]:
    """Reads the lines or records of an input; a line of more than `limit` bytes has a problem and no text."""
    if is_parquet(file.path):
        yield from read_rows(file.path, fields, limit=limit)
        return
    with open_stream(file.path) as stream:
        yield from read_stream(stream, file.path, limit=limit, fields=fields)


def read_stream(stream: Any, path: str, *, limit: int, fields: RecordFields, number: int = 0) -> Iterator[Line]:
    """Reads the lines or records of an open stream, split at line feeds only, after `number` lines have been read."""
    has_records = is_json_lines(path)
    try:
        while raw := stream.readline(limit + 2):
            number += 1
            line = _decode_line(raw, stream, number, limit)
            yield parse_json_line(line, fields) if has_records else line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{source_name(path)}:{number + 1}: the compressed data is damaged: {error}") from error


def _decode_line(raw: bytes, stream: Any, number: int, limit: int) -> Line:
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
