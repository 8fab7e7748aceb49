"""Lines of text from files and streams, whatever their compression and encoding."""

import codecs
import gzip
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

_SAMPLE = 1 << 20  # bytes to tell the encoding by
_GZIP_MAGIC = b"\x1f\x8b"

Source = str | os.PathLike[str] | IO[bytes] | IO[str]


Line = tuple[str, str]  # a line, and what is wrong with its bytes if they are no text


def name_of(source: Source) -> str:
    """What messages call a source."""
    if source == "-":
        return "<stdin>"
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<stream>"))


def checked_encoding(encoding: str) -> str:
    """Refuse an encoding that does not exist, or whose lines cannot be told apart before decoding."""
    try:
        name = codecs.lookup(encoding).name.removesuffix("-sig")
        has_lines = "\n(".encode(name) == b"\n("
    except LookupError as error:
        raise ValueError(f"unknown encoding {encoding!r}; try utf-8 or gb18030") from error
    if not has_lines:
        raise ValueError(f"cannot read {encoding} line by line; convert the file to UTF-8 first")
    return name


def read_lines(source: Source, encoding: str | None) -> Iterator[Line]:
    """Each line of a path, a stream or "-", split at line feeds alone; without `encoding`, UTF-8 or GB18030."""
    with opened(source) as stream:
        is_text = isinstance(stream.read(0), str)
        lines = ((text, "") for text in stream) if is_text else _decoded(stream, encoding)
        for text, problem in lines:
            yield (text.removeprefix("\ufeff"), problem)
            break
        yield from lines


@contextmanager
def opened(source: Source) -> Iterator[Any]:
    """A stream of the source's text or unpacked bytes; one that the caller opened stays open."""
    if isinstance(source, (str, os.PathLike)) and source != "-":
        with Path(source).open("rb") as file:
            yield _unpacked(file)
        return
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin) if source == "-" else source
    yield stream if isinstance(stream.read(0), str) else _unpacked(stream)


def _unpacked(stream: Any) -> Any:
    if hasattr(stream, "peek"):
        magic = stream.peek(2)[:2]
    else:
        position = stream.tell()
        magic = stream.read(2)
        stream.seek(position)
    if magic != _GZIP_MAGIC:
        return stream
    unpacked: Any = gzip.GzipFile(fileobj=stream)
    return io.BufferedReader(unpacked)  # GzipFile itself is slow line by line


def _decoded(stream: Any, encoding: str | None) -> Iterator[Line]:
    head = stream.readlines(_SAMPLE)
    encoding = encoding or detect(b"".join(head))
    for raw in chain(head, stream):
        try:
            yield raw.decode(encoding), ""
        except UnicodeError as error:
            # the brackets still tell where the tree ends
            yield raw.decode("ascii", errors="replace"), f"{error}; if the file is in another encoding, name it"


def detect(sample: bytes) -> str:
    """GB18030 if bytes look like it, otherwise UTF-8; of a damaged file, what most of it is.

    >>> detect("(NN 树)".encode("gb18030")), detect("(NN 树)".encode())
    ('gb18030', 'utf-8')
    """
    text = sample.decode(errors="replace")
    wrong = text.count("\ufffd")
    if not wrong:
        return "utf-8"
    right = len(re.findall(r"[^\x00-\x7f\ufffd]", text))
    high = len(re.findall(rb"[\x80-\xff]", sample))
    pairs = len(re.findall(rb"[\xa1-\xf7][\xa1-\xfe]", sample))  # accented letters rarely come in pairs, Chinese does
    return "gb18030" if wrong >= right and 2 * pairs > 0.8 * high else "utf-8"
