"""Lines of tokens from bytes: compiled code splits a batch of lines at once.

A batch with an odd line, for example one that is not UTF-8, is read line by line. So is all that follows a line that is
too long to be kept.
"""

import io
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from treecrf.corpus.inputs import BATCH_BYTES, LineBatch, damaged_data, line_batches, read_stream
from treecrf.files import DECOMPRESSION_ERRORS
from treecrf.trees.treebank.word_table import LineLimits, TokenLines, WordTable

_BYTE_ORDER_MARK = "\ufeff".encode()


class TokenBatch(NamedTuple):
    """Lines of tokens that are parsed together."""

    sentences: TokenLines
    counts: list[int]  # sentences in each line: 1, or 0 in a line without words
    first: int  # number of the first line, from 1
    ends_block: bool  # whether a block of the output ends here
    size: int  # bytes


class TokenReader:
    """Reads lines of tokens in batches; each batch asks for the table of its words."""

    def __init__(self, word_table: Callable[[], WordTable], *, longest_line: int, most_words: int) -> None:
        self._word_table = word_table
        self._longest_line, self._most_words = longest_line, most_words

    def batches(
        self,
        stream: Any,
        path: str,
        while_reading: Callable[[Iterator[Any]], Iterator[Any]],
        *,
        first: int,
        block_lines: int,
    ) -> Iterator[TokenBatch | LineBatch]:
        """Cuts the other lines of an open stream into the batches of `line_batches`, from line number `first` on.

        `while_reading` gets the iterator that waits for input.
        """
        buffer = _Buffer(while_reading(iter(lambda: stream.read1(io.DEFAULT_BUFFER_SIZE), b"")), self._longest_line)
        lines_in_block = 0
        while True:
            wanted = block_lines - lines_in_block
            try:
                buffer.fill(wanted)
            except DECOMPRESSION_ERRORS as error:
                raise damaged_data(path, first + buffer.lines, error) from error
            if buffer.has_long_line:
                rest = io.BufferedReader(_Rest(buffer.data, stream))
                lines = read_stream(rest, path, limit=self._longest_line, number=first - 1)
                sizes = {"block_lines": block_lines, "max_lines": block_lines, "lines_in_block": lines_in_block}
                yield from line_batches(while_reading(lines), first=first, **sizes)
                return
            if not buffer.data:
                return
            batch = self._split(buffer.data, path, first, wanted)
            count = len(batch.counts) if isinstance(batch, TokenBatch) else len(batch.lines)
            lines_in_block = (lines_in_block + count) % block_lines
            is_cut = count == wanted or batch.size >= BATCH_BYTES
            yield batch._replace(ends_block=lines_in_block == 0 or not is_cut)
            buffer.drop(count, batch.size)
            first += count

    def _split(self, data: bytes, path: str, first: int, lines: int) -> TokenBatch | LineBatch:
        limits = LineLimits(lines, BATCH_BYTES, self._longest_line, self._most_words)
        split = self._word_table().split(data, limits)
        if split.sentences is not None and not (first == 1 and data.startswith(_BYTE_ORDER_MARK)):
            return TokenBatch(split.sentences, split.has_words.astype(int).tolist(), first, False, split.bytes)
        stream = io.BytesIO(data[: split.bytes])
        return LineBatch(list(read_stream(stream, path, limit=self._longest_line, number=first - 1)), first, False)


class _Buffer:
    """Bytes that were read and not yet split."""

    def __init__(self, chunks: Iterator[bytes], longest_line: int) -> None:
        self.data = b""
        self.lines = 0  # with a line end
        self._chunks, self._longest_line = chunks, longest_line
        self._unfinished_bytes = 0  # after the last line end

    @property
    def has_long_line(self) -> bool:
        """Whether the last line has no end, and is too long to be kept until it has one."""
        return self._unfinished_bytes > self._longest_line + 2

    def fill(self, lines: int) -> None:
        """Reads until there are as many lines, or the bytes of a batch, or a long line, or nothing is left."""
        pieces, size = [self.data], len(self.data)
        try:
            while self.lines < lines and size - self._unfinished_bytes < BATCH_BYTES and not self.has_long_line:
                chunk = next(self._chunks, b"")
                if not chunk:
                    return
                pieces.append(chunk)
                size += len(chunk)
                line_end = chunk.rfind(b"\n") + 1
                self._unfinished_bytes = len(chunk) - line_end + (0 if line_end else self._unfinished_bytes)
                self.lines += chunk.count(b"\n")
        finally:
            self.data = b"".join(pieces)

    def drop(self, lines: int, size: int) -> None:
        """Forgets lines at the beginning."""
        self.data, self.lines = self.data[size:], self.lines - lines
        self._unfinished_bytes = min(self._unfinished_bytes, len(self.data))


class _Rest(io.RawIOBase):
    """The bytes of a stream after some bytes that were read before."""

    def __init__(self, data: bytes, stream: Any) -> None:
        self._data, self._stream = data, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        chunk = self._data[:size] or self._stream.read1(size)
        self._data = self._data[size:]
        buffer[: len(chunk)] = chunk
        return len(chunk)
