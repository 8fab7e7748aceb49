"""Subword pieces of words, and the segments of pieces that a pretrained encoder reads."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.tokenizers import Tokenizer, load_saved_tokenizer, load_tokenizer

_PIECES_PER_WORD = 20  # further pieces of a word are dropped
_CHARS_PER_WORD = 10_000


class SubwordTokenizer:
    """Splits each word by itself into subword pieces.

    `segment_size` is the number of pieces that the encoder reads at once, including the special pieces at both ends
    (default: the tokenizer's maximum).
    """

    def __init__(self, tokenizer: Tokenizer, *, segment_size: int | None = None) -> None:
        self._tokenizer = tokenizer
        self.segment_size = segment_size or tokenizer.max_length
        self.begin_id, self.end_id, self.pad_id = tokenizer.begin_id, tokenizer.end_id, tokenizer.pad_id

    @staticmethod
    def load(name: str | Path) -> "SubwordTokenizer":
        """Loads the tokenizer of a folder or of a name on the Hugging Face hub."""
        return SubwordTokenizer(load_tokenizer(name))

    @staticmethod
    def load_saved(files: Mapping[str, bytes], folder: Path) -> "SubwordTokenizer":
        """Loads the tokenizer of a saved parser from the content of its files; `folder` names them in errors."""
        return SubwordTokenizer(load_saved_tokenizer(files, folder))

    def save(self, folder: str | Path) -> None:
        """Writes the tokenizer's files; `load` also needs the encoder's config.json in the same folder."""
        self._tokenizer.save(folder, max_length=self.segment_size)

    def split(self, words: Sequence[str]) -> list[list[int]]:
        """The piece ids of each word; a word without pieces gets the unknown piece."""
        pieces = self._tokenizer.encode([word[:_CHARS_PER_WORD] for word in words]) if words else []
        return [ids[:_PIECES_PER_WORD] or [self._tokenizer.unknown_id] for ids in pieces]


def build_segments(pieces: Ints, counts: Ints, lengths: Ints, tokenizer: SubwordTokenizer) -> dict[str, Ints]:
    """The piece fields of a batch.

    `pieces` has one row per word of all sentences, `counts` is the number of pieces in each row, and `lengths` is the
    number of words of each sentence. A sentence with too many pieces is split into overlapping segments. The vector of
    each piece is taken from the segment in which it has most context on both sides.
    """
    flat = pieces[np.arange(pieces.shape[1]) < counts[:, None]]
    ends = np.cumsum(counts)[np.cumsum(lengths) - 1]  # the end of each sentence in `flat`
    segments = np.array(_split_sentences([0, *ends.tolist()], tokenizer.segment_size - 2), dtype=np.int64)
    sentence, start, end, used_start, used_end = segments.T
    at = start[:, None] + np.arange((end - start).max())  # (w, p - 2)
    is_inside, is_used = at < end[:, None], (at >= used_start[:, None]) & (at < used_end[:, None])
    grid = np.full((len(segments), at.shape[1] + 2), tokenizer.pad_id, dtype=np.int64)
    grid[:, 0] = tokenizer.begin_id
    grid[:, 1:-1][is_inside] = flat[at[is_inside]]
    grid[np.arange(len(segments)), end - start + 1] = tokenizer.end_id
    index = np.arange(grid.size).reshape(grid.shape)
    numbers = np.arange(len(lengths))
    first, last = np.searchsorted(sentence, numbers), np.searchsorted(sentence, numbers, side="right") - 1
    begins = numbers * (int(lengths.max()) + 2)
    words = np.repeat(begins + 1 - np.cumsum(lengths) + lengths, lengths) + np.arange(len(counts))
    return {
        "pieces": grid,
        "segment_lengths": end - start + 2,
        "piece_index": np.concatenate([index[:, 1:-1][is_used], index[first, 0], index[last, (end - start + 1)[last]]]),
        "piece_words": np.concatenate([np.repeat(words, counts), begins, begins + lengths + 1]),
        "piece_counts": np.concatenate([np.repeat(counts, counts), np.ones(2 * len(lengths), np.int64)]),
    }


def _split_sentences(borders: list[int], size: int) -> list[tuple[int, int, int, int, int]]:
    """Splits sentences between piece borders into segments of at most `size` that overlap by half.

    A segment is its sentence, its start and end, and the start and end of the pieces whose vectors are taken from it.
    """
    segments = []
    for sentence, (start, end) in enumerate(pairwise(borders)):
        used_start = start
        while end - start > size:
            used_end = start + size // 2 + size // 4
            segments.append((sentence, start, start + size, used_start, used_end))
            start, used_start = start + size // 2, used_end
        segments.append((sentence, start, end, used_start, end))
    return segments
