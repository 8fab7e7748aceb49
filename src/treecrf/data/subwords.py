"""Words as the pieces that a pretrained encoder reads."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from treecrf.data.tokenizers import Tokenizer, load_tokenizer

Ints = npt.NDArray[np.int64]

_PIECES_PER_WORD = 20  # a longer word is known by its beginning
_CHARS_PER_WORD = 10_000


class SubwordTokenizer:
    """A tokenizer that cuts each word by itself.

    `window` is how many pieces the encoder reads at once, the special ones at both ends included.
    """

    def __init__(self, tokenizer: Tokenizer, *, window: int) -> None:
        self._tokenizer = tokenizer
        self.window = window
        self.begin, self.end, self.pad = tokenizer.begin, tokenizer.end, tokenizer.pad

    @staticmethod
    def load(name: str | Path, *, window: int | None = None) -> "SubwordTokenizer":
        """The tokenizer of a folder, or of a name on the Hugging Face hub."""
        tokenizer = load_tokenizer(name)
        return SubwordTokenizer(tokenizer, window=window or tokenizer.limit)

    def save(self, folder: str | Path) -> None:
        """Write the files from which `load` loads the same tokenizer, given the encoder's config.json beside them."""
        self._tokenizer.save(folder, limit=self.window)

    def split(self, words: Sequence[str]) -> list[list[int]]:
        """The pieces of each word, one at least: what the tokenizer sees nothing in is unknown to it."""
        pieces = self._tokenizer.cut([word[:_CHARS_PER_WORD] for word in words]) if words else []
        return [ids[:_PIECES_PER_WORD] or [self._tokenizer.unknown] for ids in pieces]


def windows(pieces: Ints, counts: Ints, lengths: Ints, tokenizer: SubwordTokenizer) -> dict[str, Ints]:
    """The windows through which an encoder reads sentences, and where it sees each word: a batch's piece fields.

    `pieces` has a row for each word of all sentences, of which `counts` are filled; `lengths` counts their words.
    A sentence that does not fit is read through overlapping windows, and each piece is taken from the one that sees
    most on both of its sides.
    """
    flat = pieces[np.arange(pieces.shape[1]) < counts[:, None]]
    ends = np.cumsum(counts)[np.cumsum(lengths) - 1]  # where each sentence's pieces end
    cuts = np.array(_cuts([0, *ends.tolist()], tokenizer.window - 2), dtype=np.int64)
    sentence, start, end, own_start, own_end = cuts.T
    at = start[:, None] + np.arange((end - start).max())  # (w, p - 2)
    inside, own = at < end[:, None], (at >= own_start[:, None]) & (at < own_end[:, None])
    grid = np.full((len(cuts), at.shape[1] + 2), tokenizer.pad, dtype=np.int64)
    grid[:, 0] = tokenizer.begin
    grid[:, 1:-1][inside] = flat[at[inside]]
    grid[np.arange(len(cuts)), end - start + 1] = tokenizer.end
    cells = np.arange(grid.size).reshape(grid.shape)
    numbers = np.arange(len(lengths))
    first, last = np.searchsorted(sentence, numbers), np.searchsorted(sentence, numbers, side="right") - 1
    begins = numbers * (int(lengths.max()) + 2)
    words = np.repeat(begins + 1 - np.cumsum(lengths) + lengths, lengths) + np.arange(len(counts))
    return {
        "pieces": grid,
        "piece_lengths": end - start + 2,
        "piece_rows": np.concatenate([cells[:, 1:-1][own], cells[first, 0], cells[last, (end - start + 1)[last]]]),
        "piece_words": np.concatenate([np.repeat(words, counts), begins, begins + lengths + 1]),
        "piece_shares": np.concatenate([np.repeat(counts, counts), np.ones(2 * len(lengths), np.int64)]),
    }


def _cuts(borders: list[int], room: int) -> list[tuple[int, int, int, int, int]]:
    """Windows as (sentence, start, end, start and end of what is taken from it), half of each over the one before."""
    cuts = []
    for sentence, (start, end) in enumerate(pairwise(borders)):
        taken = start
        while end - start > room:
            middle = start + room // 2 + room // 4
            cuts.append((sentence, start, start + room, taken, middle))
            start, taken = start + room // 2, middle
        cuts.append((sentence, start, end, taken, end))
    return cuts
