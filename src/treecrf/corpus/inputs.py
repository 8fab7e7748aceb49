"""Inputs of bulk parsing: files and standard input, read line by line."""

import gzip
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from treecrf.corpus.records import Line, RecordFields, is_json_lines, is_parquet, parse_json_line, read_rows
from treecrf.trees.treebank.lines import open_stream, source_name

STDIN = "-"
_SAMPLE_BYTES = 1 << 20
_TEXT = RecordFields()
_MIN_UTF16 = 6  # bytes of a line; fewer bytes do not show their encoding


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
        """The size of its text in bytes, estimated if it is compressed; None if it cannot be known."""
        path = Path(self.path)
        if not path.is_file() or is_parquet(path):
            return None
        return round(path.stat().st_size * _compression_ratio(path))

    @property
    def is_terminal(self) -> bool:
        """Whether the lines are typed at a terminal."""
        return self.path == STDIN and sys.stdin.isatty()

    @property
    def is_regular(self) -> bool:
        """Whether it is a file that can be read again, not a pipe or a device."""
        return self.path != STDIN and Path(self.path).is_file()


def with_prompt(lines: Iterator[Line]) -> Generator[Line, None, None]:
    """The same lines, typed at a terminal: asks for each line."""
    print("one sentence a line, Ctrl-D ends", file=sys.stderr)
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        line = next(lines, None)
        if line is None:
            print(file=sys.stderr)
            return
        yield line


def _compression_ratio(path: Path) -> float:
    """How many bytes of text a byte of the file has, measured at the beginning of the file."""
    with path.open("rb") as stream, open_stream(stream) as text:
        if text is stream:
            return 1.0
        with suppress(EOFError, zlib.error, gzip.BadGzipFile):  # parsing reports damaged data
            size = len(text.read(_SAMPLE_BYTES))
            return size / max(stream.tell(), 1)
    return 1.0


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
    if 0 in content and _is_utf16(content):
        text, problem = "", "every second byte is zero, as in UTF-16; convert the file to UTF-8 first"
    return Line(text.removeprefix("\ufeff") if number == 1 else text, problem, size)


def _is_utf16(content: bytes) -> bool:
    """Whether a line is UTF-16 without a byte order mark: in Latin letters, every second byte is zero."""
    zeros = sorted(half.count(0) / max(len(half), 1) for half in (content[::2], content[1::2]))
    return len(content) >= _MIN_UTF16 and zeros[0] < 0.1 and zeros[1] > 0.9
