"""Padding of whole batches to shared shapes, so that a training step can be captured as a CUDA graph.

Padding does not change the loss of a CRF. Added sentences have one word, hence one tree, and their label is ignored.
Added pieces belong to no word, and attention masks hide them from the pieces of words.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from treecrf.data.batch import IGNORED, PAD, Batch
from treecrf.data.bucketing import Indices

_PIECE_MULTIPLE = 8  # padded segments have a multiple of so many pieces


class PaddedShape(NamedTuple):
    """The dimensions to which a batch is padded."""

    sentences: int
    words: int  # per sentence
    distinct_words: int  # rows of characters
    chars: int  # per word
    segments: int = 0  # of subword pieces, if the model has a transformer
    pieces: int = 0  # per segment


def padded_shape(
    batch: Batch, bucket: Indices, lengths: Sequence[int], *, cells: int, segment_size: int
) -> PaddedShape:
    """The shape for a batch of a bucket; almost all batches of the bucket get the same shape in all epochs.

    If charts of the bucket's maximal size had more than `cells` cells, the number of sentences and words stays that of
    the batch. A transformer reads at most `segment_size` pieces at once.
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
    added = shape.sentences - batch.size
    fill_values = {"words": PAD, "vectors": PAD, "tags": PAD, "char_rows": 0}
    tensors = {
        name: _pad_sentences(getattr(batch, name), shape, shape.words + 2, value) for name, value in fill_values.items()
    }
    return replace(
        batch,
        host_lengths=F.pad(batch.host_lengths, (0, added), value=1),
        lengths=F.pad(batch.lengths, (0, added), value=1),
        gold_tags=_pad_sentences(batch.gold_tags, shape, shape.words, IGNORED),
        flat=None,
        **(tensors | _pad_chars(batch, shape) | _pad_pieces(batch, shape) | _pad_spans(batch, shape)),  # type: ignore[arg-type]  # every value is a tensor
    )


def _pad_sentences(values: Tensor | None, shape: PaddedShape, width: int, fill_value: int) -> Tensor | None:
    if values is None:
        return None
    return F.pad(values, (0, width - values.shape[1], 0, shape.sentences - len(values)), value=fill_value)


def _pad_chars(batch: Batch, shape: PaddedShape) -> dict[str, Tensor]:
    if batch.chars is None or batch.char_lengths is None:
        return {}
    added = shape.distinct_words - len(batch.chars)
    lengths = F.pad(batch.char_lengths, (0, added), value=1)
    starts = torch.arange(shape.distinct_words) * shape.chars
    return {
        "chars": F.pad(batch.chars, (0, shape.chars - batch.chars.shape[1], 0, added), value=PAD),
        "char_lengths": lengths,
        "host_char_lengths": lengths,
        "char_final_states": torch.stack([2 * (starts + lengths - 1), 2 * starts + 1], 1),
    }


def _pad_pieces(batch: Batch, shape: PaddedShape) -> dict[str, Tensor]:
    """Pads segments; `piece_index` then has every place once: first the pieces of words, then the other places."""
    if batch.pieces is None or batch.segment_lengths is None or batch.piece_index is None:
        return {}
    assert batch.piece_words is not None and batch.piece_counts is not None
    segments, width = batch.pieces.shape
    index = batch.piece_index // width * shape.pieces + batch.piece_index % width
    is_free = torch.ones(shape.segments * shape.pieces, dtype=torch.bool).index_fill_(0, index, False)
    old_positions, positions = batch.longest + 2, shape.words + 2
    words = batch.piece_words // old_positions * positions + batch.piece_words % old_positions
    added = len(is_free) - len(index)
    return {
        "pieces": F.pad(batch.pieces, (0, shape.pieces - width, 0, shape.segments - segments)),  # any valid id will do
        "segment_lengths": F.pad(batch.segment_lengths, (0, shape.segments - segments), value=1),
        "piece_index": torch.cat([index, is_free.nonzero()[:, 0]]),
        "piece_words": F.pad(words, (0, added), value=shape.sentences * positions),
        "piece_counts": F.pad(batch.piece_counts, (0, added), value=1),
    }


def _pad_spans(batch: Batch, shape: PaddedShape) -> dict[str, Tensor]:
    """The gold spans, the spans of the added sentences, then copies of the last span, whose labels are ignored."""
    spans, old_size, size = batch.spans, batch.longest + 1, shape.words + 1
    assert batch.labels is not None
    added = torch.arange(batch.size, shape.sentences)
    sentences = torch.cat([spans.lefts // old_size, added])
    starts = torch.cat([spans.lefts % old_size, torch.zeros_like(added)])
    ends = torch.cat([spans.rights % old_size, torch.ones_like(added)])
    total = shape.sentences * (2 * shape.words - 1)
    index = torch.arange(total).clamp(max=len(starts) - 1)
    lefts, rights = (sentences * size + starts)[index], (sentences * size + ends)[index]
    return {
        "cells": lefts * size + rights % size,
        "lefts": lefts,
        "rights": rights,
        "labels": F.pad(batch.labels, (0, total - len(batch.labels)), value=IGNORED),
    }
