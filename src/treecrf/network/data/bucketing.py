"""Bucketing: grouping sentences of similar length into batches of bounded size.

The cost of a batch grows with its words, and its charts grow with the number of sentences times the squared length of
the longest one. Both are bounded, so that one long sentence does not multiply the memory of a batch of short ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.batch import IGNORED, PAD, Batch, char_fields

Indices = Ints  # sentence numbers

# Words of the smallest batches that are made for threads, for few and for many sentences. Smaller batches cost more per
# word, larger ones leave threads without work.
_THREAD_WORDS = 60, 120
_BATCHES_LEFT = 2  # batches for each thread into which the remaining words could still be split


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Maximal size of a batch; a sentence above it gets a batch of its own."""

    words: int = 5000
    cells: int = 1_000_000  # cells of padded charts: (n + 1)^2 for each sentence

    def __post_init__(self) -> None:
        if self.words < 1 or self.cells < 1:
            raise ValueError(
                f"a batch of {self.words} words and {self.cells} chart cells holds nothing; expected 1 or more"
            )


def buckets(lengths: Sequence[int], *, count: int = 32) -> list[Indices]:
    """Groups sentences by length into at most `count` clusters (k-means), shortest first."""
    sizes = np.asarray(lengths, dtype=np.int64)
    if not len(sizes):
        return []
    distinct, frequency = np.unique(sizes, return_counts=True)
    centers = distinct[np.linspace(0, len(distinct) - 1, min(count, len(distinct))).round().astype(int)].astype(float)
    while True:
        nearest = np.abs(distinct[:, None] - centers).argmin(1)
        totals = np.bincount(nearest, frequency, len(centers))
        sums = np.bincount(nearest, distinct * frequency, len(centers))
        means = np.divide(sums, totals, out=centers.copy(), where=totals > 0)
        if np.array_equal(means, centers):
            break
        centers = means
    cluster = nearest[np.searchsorted(distinct, sizes)]
    groups = [np.flatnonzero(cluster == number) for number in range(len(centers))]
    return [group for group in groups if len(group)]


def shuffled_batches(
    lengths: Sequence[int], groups: Sequence[Indices], *, budget: Budget, permute: Callable[[int], Indices]
) -> list[list[int]]:
    """The batches of one epoch: each bucket is shuffled and split, and the batches are shuffled.

    `permute` returns the integers below a number in random order.

    A bucket is split into equal batches that have `budget.words` positions on average. A batch whose charts exceed
    `budget.cells` is split further.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    batches: list[list[int]] = []
    for group in groups:
        members = group[permute(len(group))]
        positions = float((sizes[group] + 2).sum())  # every sentence has a start and an end
        batch_count = min(max(1, round(positions / budget.words)), len(group))
        for batch_members in np.array_split(members, batch_count):
            batches += _split_by_cells(batch_members, sizes, budget.cells)
    return [batches[number] for number in permute(len(batches))]


def _split_by_cells(members: Indices, sizes: Indices, cells: int) -> list[list[int]]:
    """Splits a batch, longest sentences first, into as few batches as keep the charts of each within `cells`."""
    if len(members) * (int(sizes[members].max()) + 1) ** 2 <= cells:
        return [[int(member) for member in members]]
    return _split_by_budget(
        members[np.argsort(-sizes[members], kind="stable")], sizes, Budget(words=2**62, cells=cells)
    )


def sorted_batches(lengths: Sequence[int] | Ints, *, budget: Budget, threads: int = 1) -> list[list[int]]:
    """Batches of all sentences, longest first; for parsing, which needs no randomness.

    Several threads take one batch after the other. The last batches are smaller than the budget, so that all threads
    end at about the same time, even if one of them shares its processor with another program.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    return _split_by_budget(np.argsort(-sizes, kind="stable"), sizes, budget, threads)


def _split_by_budget(members: Indices, sizes: Indices, budget: Budget, threads: int = 1) -> list[list[int]]:
    """Splits members, sorted by length with the longest first, into batches as large as the budget allows."""
    ends = np.concatenate([[0], np.cumsum(sizes[members])])  # words before each member, then all words
    batches: list[list[int]] = []
    least_words = int(np.clip(ends[-1] // threads, *_THREAD_WORDS))
    start = 0
    while start < len(members):
        words = budget.words
        if threads > 1:
            share = int(ends[-1] - ends[start]) // (_BATCHES_LEFT * threads)
            words = min(words, max(share, least_words))
        end_by_words = int(np.searchsorted(ends, ends[start] + words, side="right")) - 1
        end_by_cells = start + budget.cells // (int(sizes[members[start]]) + 1) ** 2
        end = max(start + 1, min(end_by_words, end_by_cells))
        batches.append(members[start:end].tolist())
        start = end
    return batches


_PIECE_MULTIPLE = 8  # the length of padded segments is a multiple of it


class BucketSize(NamedTuple):
    """The most sentences that an epoch has of a bucket, and the words of the longest one."""

    sentences: int
    words: int


class PaddedShape(NamedTuple):
    """The dimensions to which a batch is padded."""

    sentences: int
    words: int  # per sentence
    distinct_words: int  # rows of characters
    chars: int  # per word
    segments: int = 0  # subword segments, if the model has a transformer
    pieces: int = 0  # per segment


def padded_shape(batch: Batch, bucket: BucketSize, *, cells: int, segment_size: int) -> PaddedShape:
    """The shape for a batch of a bucket; almost all batches of the bucket get the same shape in all epochs.

    If charts of the bucket's maximal size had more than `cells` cells, the batch keeps its number of sentences and
    words. A transformer reads at most `segment_size` pieces at once.
    """
    largest = -(-bucket.sentences // max(1, round(bucket.sentences / batch.size)))
    sentences = largest if largest - batch.size in (0, 1) else batch.size
    words = bucket.words
    if sentences * (words + 1) ** 2 > cells:
        sentences, words = batch.size, batch.longest
    distinct_words, chars = batch.chars.shape if batch.chars is not None else (0, 0)
    segments, pieces = batch.pieces.shape if batch.pieces is not None else (0, 0)
    return PaddedShape(
        sentences=sentences,
        words=words,
        distinct_words=_round_up(distinct_words),
        chars=_round_up(chars),
        segments=segments and sentences + _round_up(segments - batch.size),
        pieces=min(-(-_round_up(pieces) // _PIECE_MULTIPLE) * _PIECE_MULTIPLE, segment_size),
    )


def _round_up(count: int) -> int:
    """Rounds up to one of eight evenly spaced numbers between a power of two and the next."""
    step = 1 << max(0, count.bit_length() - 4)
    return -(-count // step) * step


def pad_to(batch: Batch, shape: PaddedShape) -> Batch:
    """Pads a batch to a shape; its losses and gradients stay the same."""
    arrays = _pad_sentences(batch, shape) | _pad_spans(batch, shape)
    if batch.chars is not None:
        arrays |= _pad_chars(batch, shape)
    if batch.pieces is not None:
        arrays |= _pad_pieces(batch, shape)
    return replace(batch, **arrays)  # type: ignore[arg-type]  # every value is an array


def _pad(values: Ints, *shape: int, fill_value: int = 0) -> Ints:
    """Pads an array at the end of each dimension."""
    padding = [(0, size - old_size) for size, old_size in zip(shape, values.shape, strict=True)]
    return np.pad(values, padding, constant_values=fill_value)


def _pad_sentences(batch: Batch, shape: PaddedShape) -> dict[str, Ints]:
    """Pads the fields that have a row for each sentence."""
    fill_values = {"lengths": 1, "sentence_ids": -1, "words": PAD, "vectors": PAD, "tags": PAD, "char_rows": 0}
    fill_values |= {"capitals": 0, "gold_tags": IGNORED, "schemes": 0}
    arrays: dict[str, Ints] = {}
    for name, fill_value in fill_values.items():
        if (array := getattr(batch, name)) is not None:
            widths = [width + shape.words - batch.longest for width in array.shape[1:]]
            arrays[name] = _pad(array, shape.sentences, *widths, fill_value=fill_value)
    return arrays


def _pad_chars(batch: Batch, shape: PaddedShape) -> dict[str, Ints]:
    chars, lengths = batch.require("chars", "char_lengths")
    return char_fields(
        _pad(chars, shape.distinct_words, shape.chars, fill_value=PAD),
        _pad(lengths, shape.distinct_words, fill_value=1),
    )


def _pad_pieces(batch: Batch, shape: PaddedShape) -> dict[str, Ints]:
    """Pads segments; `piece_index` then has every place once: first the pieces of words, then the other places."""
    pieces, lengths, index, words, counts = batch.require(
        "pieces", "segment_lengths", "piece_index", "piece_words", "piece_counts"
    )
    width = pieces.shape[1]
    index = index // width * shape.pieces + index % width
    is_free = np.ones(shape.segments * shape.pieces, dtype=np.bool_)
    is_free[index] = False
    old_positions, positions = batch.longest + 2, shape.words + 2
    words = words // old_positions * positions + words % old_positions
    return {
        "pieces": _pad(pieces, shape.segments, shape.pieces),  # any valid id will do
        "segment_lengths": _pad(lengths, shape.segments, fill_value=1),
        "piece_index": np.concatenate([index, np.flatnonzero(is_free)]),
        "piece_words": _pad(words, len(is_free), fill_value=shape.sentences * positions),
        "piece_counts": _pad(counts, len(is_free), fill_value=1),
    }


def _pad_spans(batch: Batch, shape: PaddedShape) -> dict[str, Ints]:
    """The gold spans, the spans of the added sentences, then copies of the last span, whose labels are ignored."""
    _, lefts, rights, labels = batch.require("cells", "lefts", "rights", "labels")
    old_size, size = batch.longest + 1, shape.words + 1
    added = np.arange(batch.size, shape.sentences)
    sentences = np.concatenate([lefts // old_size, added])
    starts = np.concatenate([lefts % old_size, np.zeros_like(added)])
    ends = np.concatenate([rights % old_size, np.ones_like(added)])
    total = shape.sentences * (2 * shape.words - 1)
    index = np.arange(total).clip(max=len(starts) - 1)
    lefts, rights = (sentences * size + starts)[index], (sentences * size + ends)[index]
    return {
        "cells": lefts * size + rights % size,
        "lefts": lefts,
        "rights": rights,
        "labels": _pad(labels, total, fill_value=IGNORED),
    }
