"""Batches of one shape: each bucket's are filled up to what the largest of them needs, so that a step can be recorded.

What fills a batch up has no part in a CRF's loss: sentences of one word, which have one tree, whose label is ignored,
and pieces of no word, which words' pieces do not see.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from treecrf.data.batch import IGNORED, PAD, Batch
from treecrf.data.bucketing import Indices

_PIECES = 8  # a window has room for a multiple of as many


class Room(NamedTuple):
    """How much a batch has room for."""

    sentences: int
    words: int  # of a sentence
    distinct: int  # words that are spelled
    chars: int  # of a word
    windows: int = 0  # over pieces, where a transformer reads them
    pieces: int = 0  # of a window


def padded_shape(batch: Batch, bucket: Indices, lengths: Sequence[int], *, cells: int, window: int) -> Room:
    """The room of a bucket's batches: those of almost all epochs are alike in it.

    Where charts as large as the bucket's largest would have more than so many cells, a batch has room for itself alone.
    A transformer reads at most `window` pieces at once.
    """
    largest = -(-len(bucket) // max(1, round(len(bucket) / batch.size)))
    sentences = largest if largest - batch.size in (0, 1) else batch.size
    words = max(lengths[member] for member in bucket)
    if sentences * (words + 1) ** 2 > cells:
        sentences, words = batch.size, batch.longest
    distinct, chars = batch.chars.shape if batch.chars is not None else (0, 0)
    windows, pieces = batch.pieces.shape if batch.pieces is not None else (0, 0)
    return Room(
        sentences=sentences,
        words=words,
        distinct=_rounded_up(distinct),
        chars=_rounded_up(chars),
        windows=windows and sentences + _rounded_up(windows - batch.size),
        pieces=min(-(-_rounded_up(pieces) // _PIECES) * _PIECES, window),
    )


def _rounded_up(count: int) -> int:
    """To one of the eight numbers between a power of two and the next."""
    step = 1 << max(0, count.bit_length() - 4)
    return -(-count // step) * step


def pad_to(batch: Batch, room: Room) -> Batch:
    """The batch with as much as there is room for; its losses and gradients stay what they are."""
    added = room.sentences - batch.size
    grids = {"words": PAD, "vectors": PAD, "tags": PAD, "spellings": 0}
    parts = {name: _grid(getattr(batch, name), room, room.words + 2, value) for name, value in grids.items()}
    return replace(
        batch,
        host_lengths=F.pad(batch.host_lengths, (0, added), value=1),
        lengths=F.pad(batch.lengths, (0, added), value=1),
        gold_tags=_grid(batch.gold_tags, room, room.words, IGNORED),
        flat=None,
        **(parts | _spelled(batch, room) | _windows(batch, room) | _spans(batch, room)),  # type: ignore[arg-type]  # tensors, all of them
    )


def _grid(values: Tensor | None, room: Room, width: int, value: int) -> Tensor | None:
    if values is None:
        return None
    return F.pad(values, (0, width - values.shape[1], 0, room.sentences - len(values)), value=value)


def _spelled(batch: Batch, room: Room) -> dict[str, Tensor]:
    if batch.chars is None or batch.char_lengths is None:
        return {}
    added = room.distinct - len(batch.chars)
    lengths = F.pad(batch.char_lengths, (0, added), value=1)
    starts = torch.arange(room.distinct) * room.chars
    return {
        "chars": F.pad(batch.chars, (0, room.chars - batch.chars.shape[1], 0, added), value=PAD),
        "char_lengths": lengths,
        "host_char_lengths": lengths,
        "char_ends": torch.stack([2 * (starts + lengths - 1), 2 * starts + 1], 1),
    }


def _windows(batch: Batch, room: Room) -> dict[str, Tensor]:
    """The windows with every place of theirs taken, once, by a piece: those of words, then those of none."""
    if batch.pieces is None or batch.piece_lengths is None or batch.piece_rows is None:
        return {}
    assert batch.piece_words is not None and batch.piece_shares is not None
    windows, width = batch.pieces.shape
    rows = batch.piece_rows // width * room.pieces + batch.piece_rows % width
    free = torch.ones(room.windows * room.pieces, dtype=torch.bool).index_fill_(0, rows, False)
    before, size = batch.longest + 2, room.words + 2
    words = batch.piece_words // before * size + batch.piece_words % before
    added = len(free) - len(rows)
    return {
        "pieces": F.pad(batch.pieces, (0, room.pieces - width, 0, room.windows - windows)),  # any piece will do
        "piece_lengths": F.pad(batch.piece_lengths, (0, room.windows - windows), value=1),
        "piece_rows": torch.cat([rows, free.nonzero()[:, 0]]),
        "piece_words": F.pad(words, (0, added), value=room.sentences * size),
        "piece_shares": F.pad(batch.piece_shares, (0, added), value=1),
    }


def _spans(batch: Batch, room: Room) -> dict[str, Tensor]:
    """The gold spans, then those of the sentences that were added, then the last one again and again."""
    spans, before, size = batch.spans, batch.longest + 1, room.words + 1
    assert batch.labels is not None
    added = torch.arange(batch.size, room.sentences)
    sentences = torch.cat([spans.lefts // before, added])
    starts = torch.cat([spans.lefts % before, torch.zeros_like(added)])
    ends = torch.cat([spans.rights % before, torch.ones_like(added)])
    total = room.sentences * (2 * room.words - 1)
    again = torch.arange(total).clamp(max=len(starts) - 1)
    lefts, rights = (sentences * size + starts)[again], (sentences * size + ends)[again]
    return {
        "cells": lefts * size + rights % size,
        "lefts": lefts,
        "rights": rights,
        "labels": F.pad(batch.labels, (0, total - len(batch.labels)), value=IGNORED),
    }
