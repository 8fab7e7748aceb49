"""Lines of text from files and streams, compressed or not, with detection of the encoding."""

import codecs
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from treecrf.files import Source, open_stream, source_name

WORD = re.compile(r"[^ \t\r\f\v]+")  # a word in a line of tokens
_SAMPLE = 1 << 20  # bytes for the detection of the encoding
# GB18030 characters of four bytes, and of two high bytes as in GB2312: accented letters of Latin-1 are rarely pairs.
# Other two-byte characters are left out, because their bytes could be Latin-1 or Big5
_GB18030_CHARACTER = re.compile(rb"[\x81-\xfe][0-9][\x81-\xfe][0-9]|[\xa1-\xf7][\xa1-\xfe]")

Line = tuple[str, str]  # a line, and the decoding error, if any


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
