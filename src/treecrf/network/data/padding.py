"""Padding of whole batches to shared shapes, so that a training step can be captured as a CUDA graph.

Padding does not change the loss of a CRF. Added sentences have one word, hence one tree, and their label is ignored.
Added pieces belong to no word, and attention masks hide them from the pieces of words.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.batch import IGNORED, PAD, Batch, char_fields
from treecrf.network.data.bucketing import Indices

_PIECE_MULTIPLE = 8  # the length of padded segments is a multiple of it


class PaddedShape(NamedTuple):
    """The dimensions to which a batch is padded."""

    sentences: int
    words: int  # per sentence
    distinct_words: int  # rows of characters
    chars: int  # per word
    segments: int = 0  # subword segments, if the model has a transformer
    pieces: int = 0  # per segment


def padded_shape(
    batch: Batch, bucket: Indices, lengths: Sequence[int], *, cells: int, segment_size: int
) -> PaddedShape:
    """The shape for a batch of a bucket; almost all batches of the bucket get the same shape in all epochs.

    If charts of the bucket's maximal size had more than `cells` cells, the batch keeps its number of sentences and
    words. A transformer reads at most `segment_size` pieces at once.
    """
    largest = -(-len(bucket) // max(1, round(len(bucket) / batch.size)))
    sentences = largest if largest - batch.size in (0, 1) else batch.size
    words = max(lengths[member] for member in bucket)
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
    fill_values |= {"capitals": 0, "gold_tags": IGNORED}
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
