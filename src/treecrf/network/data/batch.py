"""Batches: sentences as integer arrays.

A sentence of n words has n + 2 positions: a start, its words and an end. Variable-length data is stored flat, with
index arrays that map each item to its sentence or word. The host computes these indices, so that a device never
searches. Batches hold NumPy arrays; `nn.batch` copies them to torch tensors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from treecrf.arrays import Floats, Ints, Mask
from treecrf.trees.treebank.word_table import TokenLines

Array = TypeVar("Array", bound=Any)  # a NumPy array, or a torch tensor on a device

IGNORED = -100  # the class id of an item whose gold class is not in the vocabulary; every loss skips it

# ids of padding, unknown words and characters, sentence start and sentence end; the vocabulary's ids follow
PAD, UNK, BOS, EOS = SPECIAL = range(4)

# the error if a field is missing, or one that comes with it
_MISSING = {
    "sentence_ids": "the batch has no sentence ids; soft targets are stored for sentences of the training set",
    "vectors": "the batch has no rows of the pretrained table; collate it with the model's vocabulary",
    "schemes": "the batch has no schemes; collate it with schemes=...",
    "tags": "the model reads part-of-speech tags and the batch has none; pass the tags of each sentence",
    "capitals": "the model reads capital letters and the batch has none; build its numericalizer with capitals=True",
    "chars": "the model reads characters and the batch has none; build its numericalizer with characters=True",
    "pieces": "the model reads subword pieces and the batch has none; build its numericalizer with subwords=...",
    "cells": "the batch has no gold trees; collate it with gold=...",
    "gold_tags": "the model has a tag head and the batch has no gold tags; collate it with gold=...",
}


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Number of ids of each kind; special ids are included for words and characters."""

    words: int
    chars: int
    labels: int
    tags: int  # as classes; as inputs, tags have special ids too
    vectors: int = 0  # rows of the table of pretrained vectors


@dataclass(frozen=True, kw_only=True)
class ArrayBatch(Generic[Array]):
    """b sentences of at most n words; a field is None if the numericalizer was not asked for it."""

    size: int  # sentences
    total_words: int
    unseen_labels: int = 0  # gold spans whose label is not in the vocabulary; their label id is IGNORED

    lengths: Array  # (b,) words
    sentence_ids: Array | None = None  # (b,) indices in the training set; -1 is a sentence that pads the batch
    words: Array  # (b, n + 2)
    vectors: Array | None = None  # (b, n + 2) rows of the table of pretrained vectors
    tags: Array | None = None  # (b, n + 2) input tags; UNK is a tag that is not known
    schemes: Array | None = None  # (b,) annotation schemes, counted from 1; 0 is none
    capitals: Array | None = None  # (b, n) classes of words by their capital letters

    char_rows: Array | None = None  # (b, n + 2) the row in `chars` of the word at each position
    chars: Array | None = None  # (u, c) characters of the u distinct words
    char_lengths: Array | None = None  # (u,)
    # (u, 2) index of the forward state at the last character and of the backward state at the first character, among
    # the u * c * 2 states of a bidirectional LSTM
    char_final_states: Array | None = None

    # A transformer reads at most p pieces at once. A longer sentence is split into overlapping segments.
    pieces: Array | None = None  # (w, p) subword pieces of w segments
    segment_lengths: Array | None = None  # (w,) pieces in each segment
    piece_index: Array | None = None  # (k,) index of each piece among the w * p, in the segment with most context
    piece_words: Array | None = None  # (k,) the piece's position among b * (n + 2); b * (n + 2) if it has no word
    piece_counts: Array | None = None  # (k,) number of pieces of that word

    # the m gold spans
    cells: Array | None = None  # (m,) in flat charts: (sentence * (n + 1) + start) * (n + 1) + end
    lefts: Array | None = None  # (m,) left boundaries, among b * (n + 1)
    rights: Array | None = None  # (m,) right boundaries, among b * (n + 1)
    labels: Array | None = None  # (m,)
    gold_tags: Array | None = None  # (b, n), IGNORED in padding

    # gold forests, if a sentence has one instead of a gold tree; cells as above
    forest_cells: Array | None = None  # (c,) spans of the forests' trees
    restricted_cells: Array | None = None  # (r,) the spans at which labels have costs
    restricted_rows: Array | None = None  # (r,) their rows in `label_costs`
    label_costs: Array | None = None  # (k, labels) in millionths; -1 is a label that no tree has
    mean_cost: Array | None = None  # (1,) the sum over the forests, in millionths; 0: not known

    def require(self, name: str, *others: str) -> tuple[Array, ...]:
        """The fields with these names, which come together; raises a ValueError if the batch does not have them."""
        arrays = tuple(getattr(self, field) for field in (name, *others))
        if any(array is None for array in arrays):
            raise ValueError(_MISSING[name])
        return arrays

    @property
    def longest(self) -> int:
        """n, the number of words of the longest sentence."""
        return int(self.words.shape[1]) - 2

    @property
    def total_labels(self) -> int:
        """The number of gold spans in the label loss."""
        spans = 2 * self.total_words - self.size if self.forest_cells is None else len(self.require("labels")[0])
        return spans - self.unseen_labels


def sentence_lengths(sentences: Sequence[Sequence[str]]) -> Ints:
    """The number of words of each sentence."""
    return sentences.lengths if isinstance(sentences, TokenLines) else np.array(list(map(len, sentences)), np.int64)


def ranges(starts: Ints, counts: Ints) -> Ints:
    """The numbers from each start on, as many as its count, one range after the other.

    >>> ranges(np.array([10, 7, 20]), np.array([2, 0, 3])).tolist()
    [10, 11, 20, 21, 22]
    """
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


def char_fields(chars: Ints, lengths: Ints) -> dict[str, Ints]:
    """The fields of distinct words with characters (u, c)."""
    starts = np.arange(len(chars)) * chars.shape[1]
    final_states = np.stack([2 * (starts + lengths - 1), 2 * starts + 1], 1)
    return {"chars": chars, "char_lengths": lengths, "char_final_states": final_states}


Batch = ArrayBatch[Ints]  # a batch of NumPy arrays


def _no_vectors() -> Floats:
    raise ValueError("the scores come without vectors of words; expected the scores of a network")


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of b sentences of at most n words. A chart is (b, n + 1, n + 1) by fencepost.

    A flat chart cell is (sentence * (n + 1) + start) * (n + 1) + end.
    """

    is_crf: bool  # whether the scores are log-potentials of a CRF, which has marginals
    lengths: Ints  # (b,) words
    # (b, n + 1, n + 1); of one-stage models, the logsumexp (CRF) or the maximum (margin) over labels
    spans: Floats
    score_labels: Callable[[Ints], Floats]  # flat chart cells (m,) to label scores (m, labels)
    labels: Floats | None = None  # (b, n + 1, n + 1, labels) of one-stage models
    tags: Floats | None = None  # (b, n, tags)
    word_vectors: Callable[[], Floats] = _no_vectors  # the context vectors of all words, (words, d)

    def labels_at(self, cells: Ints) -> Floats:
        """The label scores of spans at flat chart cells, (m, labels)."""
        return self.score_labels(cells)

    def keep_labels(self, most: int) -> "Scores":
        """The same scores; the label scores of all spans are computed now if there are at most `most` spans."""
        cells = np.flatnonzero(self.is_span)
        if len(cells) > most:
            return self
        labels = self.score_labels(cells)
        return replace(self, score_labels=lambda chosen: labels[np.searchsorted(cells, chosen)])

    @property
    def is_span(self) -> Mask:
        """The cells of the chart that are spans of their sentence."""
        places = np.arange(self.spans.shape[1])
        return (places[:, None] < places) & (places <= self.lengths[:, None, None])

    @property
    def word_tags(self) -> Floats | None:
        """The tag scores of all words, (words, tags)."""
        if self.tags is None:
            return None
        return self.tags[np.arange(self.tags.shape[1]) < self.lengths[:, None]]

    def check_finite(self) -> "Scores":
        """The same scores; raises a ValueError if one of them is not a finite number, now or when it is computed."""
        if not np.isfinite(self.spans).all():  # padding may have any number
            _check_finite(self.spans[self.is_span])
        return replace(self, score_labels=lambda cells: _check_finite(self.score_labels(cells)))


def _check_finite(scores: Floats) -> Floats:
    require_finite(bool(np.isfinite(scores).all()))
    return scores


def require_finite(is_finite: bool) -> None:
    """Raises a ValueError if not all scores of a model are finite numbers."""
    if not is_finite:
        raise ValueError("the model computes scores that are not finite numbers; its weights are damaged or too large")
