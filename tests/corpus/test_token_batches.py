import gzip
import io
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.corpus import inputs, token_batches
from treecrf.corpus.inputs import LineBatch, line_batches, read_stream, split_words
from treecrf.corpus.token_batches import TokenBatch, TokenReader
from treecrf.files import open_stream
from treecrf.trees.treebank import word_table
from treecrf.trees.treebank.word_table import WordTable

pytestmark = pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
LIMIT, MOST_WORDS = 20, 4

pieces = st.sampled_from([b"a", b"bc", b" ", b"\t", b"\n", b"\n", b"\r\n", "é".encode(), b"\xff", b"\0", b"d" * 25])
texts = st.lists(pieces, max_size=40).map(b"".join)
marks = st.sampled_from([b"", b"\xef\xbb\xbf"])


class SlowStream(io.BytesIO):
    """A stream that gives few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._size = size

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read1(self._size if size is None or size < 0 else min(size, self._size))


Batch = tuple[
    list[list[Any]], list[str], int, bool, int
]  # sentences of lines, problems, first line, end of block, size


def batch_fields(batch: TokenBatch | LineBatch) -> Batch:
    if isinstance(batch, LineBatch):
        sentences, problems = [split_words(line.text) for line in batch.lines], [line.problem for line in batch.lines]
    else:
        words = iter(batch.sentences)
        sentences, problems = [[next(words) for _ in range(count)] for count in batch.counts], [""] * len(batch.counts)
        assert not list(words) and max(map(len, batch.sentences), default=0) <= MOST_WORDS
    return sentences, problems, batch.first, batch.ends_block, batch.size


def read_tokens(stream: Any, path: str = "in.txt", *, first: int = 1, block: int = 4) -> list[Batch]:
    reader = TokenReader(WordTable, longest_line=LIMIT, most_words=MOST_WORDS)
    return list(map(batch_fields, reader.batches(stream, path, lambda items: items, first=first, block_lines=block)))


def read_line_by_line(stream: Any, path: str = "in.txt", *, first: int = 1, block: int = 4) -> list[Batch]:
    lines = read_stream(stream, path, limit=LIMIT, number=first - 1)
    return list(map(batch_fields, line_batches(lines, first=first, block_lines=block, max_lines=block)))


@given(marks, texts, st.integers(1, 5), st.integers(1, 9), st.integers(1, 2), st.sampled_from([3, 30, 1 << 22]))
def test_batches_are_those_of_lines(
    mark: bytes, text: bytes, block: int, chunk_bytes: int, first: int, batch_bytes: int
) -> None:
    with (
        mock.patch.object(inputs, "BATCH_BYTES", batch_bytes),
        mock.patch.object(token_batches, "BATCH_BYTES", batch_bytes),
    ):
        expected = read_line_by_line(io.BytesIO(mark + text), first=first, block=block)
        assert read_tokens(SlowStream(mark + text, chunk_bytes), first=first, block=block) == expected


@given(st.integers(1, 60))
def test_damaged_data_is_an_error_with_the_line(size: int) -> None:
    data = gzip.compress(b"".join(b"w%d\n" % number for number in range(9)), mtime=0)[:size]
    if size < 4:
        return
    results = []
    for read in (read_tokens, read_line_by_line):
        with open_stream(io.BytesIO(data)) as stream:
            try:
                results.append(read(stream, "in.gz", block=2))
            except ValueError as error:
                results.append(str(error))
    assert results[0] == results[1]


def test_a_long_line_is_not_kept() -> None:
    sizes: list[int] = []

    class Endless(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            sizes.append(0)
            return b"x" * 8192 if len(sizes) < 500 else b""

    with mock.patch.object(token_batches, "_Rest", wraps=token_batches._Rest) as rest:
        (batch,) = read_tokens(Endless())
    assert len(rest.call_args.args[0]) == 8192
    assert batch[1] == [f"a line of {8192 * 499:,} bytes; the limit is 20, and --max-line-bytes raises it"]


def test_each_batch_asks_for_its_table() -> None:
    tables = [WordTable(), WordTable()]
    reader = TokenReader(iter([tables[0], *tables]).__next__, longest_line=100, most_words=9)
    stream = io.BytesIO(b"".join(b"a%d b%d\n" % (number, number) for number in range(6)))
    batches = reader.batches(stream, "in.txt", lambda items: items, first=1, block_lines=2)
    used = [batch.sentences.table for batch in batches if isinstance(batch, TokenBatch)]
    assert used == [tables[0], *tables] and list(map(len, tables)) == [8, 4]


def test_the_iterator_that_waits_for_input_is_marked() -> None:
    waits: list[bool] = []

    def while_reading(items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            waits.append(True)
            yield item

    reader = TokenReader(WordTable, longest_line=LIMIT, most_words=MOST_WORDS)
    list(reader.batches(SlowStream(b"a\nb\nc\n", 2), "in.txt", while_reading, first=1, block_lines=2))
    assert len(waits) == 3
