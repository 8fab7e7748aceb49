"""Words as rows of a table: compiled code splits lines of tokens and looks up their words.

Python reads only the words that are new, and lines that are odd.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from treecrf.trees.treebank.lines import WORD

try:
    from treecrf.trees.treebank import _word_table
except ImportError:  # installed without a C compiler
    available = False
else:
    available = True

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]


class LineLimits(NamedTuple):
    """Limits of the lines that are split at once, and of each line."""

    lines: int
    bytes: int  # the line that reaches this number is the last
    line_bytes: int  # without the line end
    words: int  # per line


class WordTable:
    """Numbers words by the order in which they first occur. Threads may share a table."""

    def __init__(self) -> None:
        self._table = _word_table.new_table(secrets.randbits(64))
        self._lock = Lock()

    def __len__(self) -> int:
        return _word_table.size(self._table)[0]

    @property
    def nbytes(self) -> int:
        return _word_table.size(self._table)[1]

    def words(self, first_row: int = 0) -> list[str]:
        """The words from this row on."""
        with self._lock:
            return _word_table.words(self._table, first_row)

    def split(self, data: bytes, limits: LineLimits) -> "SplitLines":
        """Splits the lines at the beginning of `data`, whose last line may have no line end."""
        count = min(limits.lines, data.count(b"\n") + 1)
        starts, ends, lengths = (np.empty(count, np.int64) for _ in range(3))
        rows = np.empty(len(data) // 2 + 1, np.int32)
        addresses = tuple(array.ctypes.data for array in (starts, ends, lengths, rows))
        with self._lock:
            lines, words, size, is_odd = _word_table.split(self._table, data, limits._replace(lines=count), addresses)
        has_words = lengths[:lines] > 0
        starts, ends, lengths = (array[:lines][has_words] for array in (starts, ends, lengths))
        sentences = None if is_odd else TokenLines(self, data, starts, ends, lengths, rows[:words].copy())
        return SplitLines(sentences, has_words, size)


@dataclass(frozen=True, slots=True)
class TokenLines(Sequence[list[str]]):
    """Lines of tokens, one sentence each; a sentence becomes strings when it is asked for."""

    table: WordTable
    data: bytes
    starts: Int64Array  # where each line begins in `data`
    ends: Int64Array
    lengths: Int64Array  # words per line
    rows: Int32Array  # one for each word

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice) -> "TokenLines": ...
    def __getitem__(self, index: int | slice) -> "list[str] | TokenLines":
        if isinstance(index, slice):
            return self.select(np.arange(len(self))[index])
        return WORD.findall(self.data[self.starts[index] : self.ends[index]].decode())

    def select(self, indices: npt.ArrayLike) -> "TokenLines":
        """The sentences with these indices."""
        chosen = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[chosen]
        first_rows = np.cumsum(self.lengths)[chosen] - lengths
        offsets = np.repeat(first_rows - np.cumsum(lengths) + lengths, lengths)
        rows = self.rows[offsets + np.arange(len(offsets))]
        return TokenLines(self.table, self.data, self.starts[chosen], self.ends[chosen], lengths, rows)


class SplitLines(NamedTuple):
    """Lines that were split at once."""

    sentences: TokenLines | None  # None if a line is odd: too long, not UTF-8, with a zero byte or too many words
    has_words: npt.NDArray[np.bool_]  # one for each line; lines without words are no sentences
    bytes: int  # with line ends
