"""Lines of text from files and streams, compressed or not, with detection of the encoding."""

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

_SAMPLE = 1 << 20  # bytes for the detection of the encoding
# GB18030 characters of four bytes, and of two high bytes as in GB2312: accented letters of Latin-1 are rarely pairs.
# Other two-byte characters are left out, because their bytes could be Latin-1 or Big5
_GB18030_CHARACTER = re.compile(rb"[\x81-\xfe][0-9][\x81-\xfe][0-9]|[\xa1-\xf7][\xa1-\xfe]")
_GZIP_MAGIC = b"\x1f\x8b"
DECOMPRESSION_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)

Source = str | os.PathLike[str] | IO[bytes] | IO[str]

Line = tuple[str, str]  # a line, and the decoding error, if any


def source_name(source: Source) -> str:
    """The name of a source in messages."""
    if source == "-":
        return "<stdin>"
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<stream>"))


def check_encoding(encoding: str) -> str:
    """Returns the codec's name; an error if it does not exist, or if lines cannot be split before decoding."""
    try:
        name = codecs.lookup(encoding).name.removesuffix("-sig")
        has_lines = "\n(".encode(name) == b"\n("
    except LookupError as error:
        raise ValueError(f"unknown encoding {encoding!r}; try utf-8 or gb18030") from error
    if not has_lines:
        raise ValueError(f"cannot read {encoding} line by line; convert the file to UTF-8 first")
    return name


def read_lines(source: Source, encoding: str | None) -> Iterator[Line]:
    """Reads the lines of a path, a stream or "-", split only at line feeds; without `encoding`, detects it."""
    with open_stream(source) as stream:
        is_text = isinstance(stream.read(0), str)
        lines = ((text, "") for text in stream) if is_text else _decode(stream, encoding)
        for text, problem in lines:
            yield (text.removeprefix("\ufeff"), problem)
            break
        yield from lines


def read_text(source: Source) -> str:
    """Reads a whole text; bytes that cannot be decoded are an error with the file and line."""
    lines: list[str] = []
    for number, (line, problem) in enumerate(read_lines(source, None), 1):
        if not problem and "\0" in line:
            problem = "the line has zero bytes, as in UTF-16 or a binary file; convert the file to UTF-8 text first"
        if problem:
            raise ValueError(f"{source_name(source)}:{number}: {problem}")
        lines.append(line)
    return "".join(lines)


@contextmanager
def open_stream(source: Source) -> Iterator[Any]:
    """Opens a source as a stream of text or decompressed bytes; a stream of the caller stays open."""
    if isinstance(source, (str, os.PathLike)) and source != "-":
        with Path(source).open("rb") as file:
            yield _decompress(file)
        return
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin) if source == "-" else source
    yield stream if isinstance(stream.read(0), str) else _decompress(stream)


def _decompress(stream: Any) -> Any:
    if hasattr(stream, "peek"):
        magic = stream.peek(2)[:2]
    else:
        position = stream.tell()
        magic = stream.read(2)
        stream.seek(position)
    if magic != _GZIP_MAGIC:
        return stream
    decompressed: Any = gzip.GzipFile(fileobj=stream)
    return io.BufferedReader(decompressed)  # GzipFile itself is slow line by line


def _decode(stream: Any, encoding: str | None) -> Iterator[Line]:
    head = stream.readlines(_SAMPLE)
    encoding = encoding or detect_encoding(b"".join(head))
    for raw in chain(head, stream):
        try:
            yield raw.decode(encoding), ""
        except UnicodeError as error:
            # the brackets are ASCII and still mark the end of the tree
            yield raw.decode("ascii", errors="replace"), f"{error}; if the file is in another encoding, name it"


def detect_encoding(sample: bytes) -> str:
    """The encoding of a sample, GB18030 or UTF-8; for a damaged file, the encoding of most bytes.

    >>> detect_encoding("(NN 树)".encode("gb18030")), detect_encoding("(NN 树)".encode())
    ('gb18030', 'utf-8')
    """
    text = sample.decode(errors="replace")
    errors = text.count("\ufffd")
    if not errors:
        return "utf-8"
    decoded = len(re.findall(r"[^\x00-\x7f\ufffd]", text))
    high_bytes = len(re.findall(rb"[\x80-\xff]", sample))
    characters = len(_GB18030_CHARACTER.findall(sample))
    return "gb18030" if errors >= decoded and 2 * characters > 0.8 * high_bytes else "utf-8"
