"""Batches: sentences as integer tensors.

A sentence of n words has n + 2 positions: a start, its words and an end. Variable-length data is stored flat, with
index tensors that map each item to its sentence or word. The host computes these indices, so that the device never
searches. All tensors of a batch share one buffer, which is copied to the device in one transfer.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

IGNORED = -100  # the class id of an item whose gold class is not in the vocabulary; every loss skips it

# ids of padding, unknown words and characters, sentence start and sentence end; the vocabulary's ids follow
PAD, UNK, BOS, EOS = SPECIAL = range(4)

_NOT_TRANSFERRED = ("host_lengths", "host_char_lengths", "flat")


class Packing(NamedTuple):
    """Indices between padded sequences and the packed format of torch's LSTM: by step, longest sequence first."""

    padded_index: Tensor  # (t,) index of each packed position among the b * s padded positions
    packed_index: Tensor  # (b, s) index of each padded position among the packed positions; 0 in padding
    batch_sizes: Tensor  # (s,) sequences that reach each step; on the host


class SequenceLengths:
    """Lengths (b,) of sequences that are padded to `width`, on the device and on the host."""

    def __init__(self, on_device: Tensor, on_host: Tensor, width: int) -> None:
        self.on_device = on_device
        self._on_host = on_host
        self._width = width

    @cached_property
    def packing(self) -> Packing:
        """The indices that pack these sequences."""
        steps = torch.arange(int(self._on_host.max()))
        order = self._on_host.argsort(descending=True, stable=True)
        is_reached = steps[:, None] < self._on_host[order]
        padded_index = (order * self._width + steps[:, None])[is_reached]
        packed_index = torch.zeros(len(order) * self._width, dtype=torch.int64)
        packed_index[padded_index] = torch.arange(len(padded_index))
        device = self.on_device.device
        return Packing(padded_index.to(device), packed_index.view(-1, self._width).to(device), is_reached.sum(1))


class DistinctWords(NamedTuple):
    """The characters of u distinct words."""

    chars: Tensor  # (u, c)
    lengths: SequenceLengths
    # (u, 2) index of the forward state at the last character and of the backward state at the first character, among
    # the u * c * 2 states of a bidirectional LSTM
    final_states: Tensor


class Spans(NamedTuple):
    """Indices of m spans in a batch whose charts are (b, n + 1, n + 1); (m,) each."""

    cells: Tensor  # in flat charts: (sentence * (n + 1) + start) * (n + 1) + end
    lefts: Tensor  # left boundaries, among b * (n + 1)
    rights: Tensor  # right boundaries, among b * (n + 1)

    @staticmethod
    def at(cells: Tensor, size: int) -> "Spans":
        """The spans at cells of charts with n + 1 = `size`."""
        lefts = cells // size
        return Spans(cells, lefts, lefts - lefts % size + cells % size)

    def boundary_vectors(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        """Selects the boundary vectors of the spans, (m, d) each, from those of all boundaries, (b, n + 1, d) each."""
        return left.flatten(0, 1).index_select(0, self.lefts), right.flatten(0, 1).index_select(0, self.rights)

    def split(self, size: int) -> "list[Spans]":
        """Splits the spans into chunks of at most `size`."""
        return [Spans(*chunk) for chunk in zip(*(torch.split(tensor, size) for tensor in self), strict=True)]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Number of ids of each kind; special ids are included for words and characters."""

    words: int
    chars: int
    labels: int
    tags: int  # as classes; as inputs, tags have special ids too
    vectors: int = 0  # rows of the table of pretrained vectors


@dataclass(frozen=True, kw_only=True)
class Batch:
    """b sentences of at most n words; a field is None if the numericalizer was not asked for it."""

    size: int  # sentences
    total_words: int
    unseen_labels: int = 0  # gold spans whose label is not in the vocabulary; their label id is IGNORED

    host_lengths: Tensor  # (b,) on the host, where torch's LSTM needs them
    lengths: Tensor  # (b,) words
    words: Tensor  # (b, n + 2)
    vectors: Tensor | None = None  # (b, n + 2) rows of the table of pretrained vectors
    tags: Tensor | None = None  # (b, n + 2) input tags

    char_rows: Tensor | None = None  # (b, n + 2) the row in `chars` of the word at each position
    chars: Tensor | None = None  # (u, c) characters of the distinct words
    char_lengths: Tensor | None = None  # (u,)
    char_final_states: Tensor | None = None  # (u, 2); see DistinctWords
    host_char_lengths: Tensor | None = None  # (u,) on the host

    # A transformer reads at most p pieces at once. A longer sentence is split into overlapping segments.
    pieces: Tensor | None = None  # (w, p) subword pieces of w segments
    segment_lengths: Tensor | None = None  # (w,) pieces in each segment
    piece_index: Tensor | None = None  # (k,) index of each piece among the w * p, in the segment with most context
    piece_words: Tensor | None = None  # (k,) the piece's position among b * (n + 2); b * (n + 2) if it has no word
    piece_counts: Tensor | None = None  # (k,) number of pieces of that word

    cells: Tensor | None = None  # (m,) the gold spans; see Spans
    lefts: Tensor | None = None  # (m,)
    rights: Tensor | None = None  # (m,)
    labels: Tensor | None = None  # (m,)
    gold_tags: Tensor | None = None  # (b, n), IGNORED in padding

    flat: Tensor | None = None  # the shared buffer after a transfer; the tensors above are views of it

    @property
    def longest(self) -> int:
        """n, the number of words of the longest sentence."""
        return self.words.shape[1] - 2

    @property
    def positions(self) -> SequenceLengths:
        """The number of positions of each sentence: start, words and end."""
        return SequenceLengths(self.lengths + 2, self.host_lengths + 2, self.words.shape[1])

    @property
    def distinct_words(self) -> DistinctWords:
        """The characters of the distinct words."""
        assert self.chars is not None and self.char_lengths is not None and self.char_final_states is not None
        assert self.host_char_lengths is not None
        lengths = SequenceLengths(self.char_lengths, self.host_char_lengths, self.chars.shape[1])
        return DistinctWords(self.chars, lengths, self.char_final_states)

    @property
    def spans(self) -> Spans:
        """The gold spans."""
        if self.cells is None or self.lefts is None or self.rights is None:
            raise ValueError("the batch has no gold trees; collate it with gold=...")
        return Spans(self.cells, self.lefts, self.rights)

    @property
    def device(self) -> torch.device:
        return self.words.device

    @property
    def shapes(self) -> tuple[tuple[int, ...] | None, ...]:
        """The shapes of all tensors; a captured CUDA graph replays batches with equal shapes."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(tuple(value.shape) if isinstance(value, Tensor) else None for value in values)

    @property
    def total_labels(self) -> int:
        """The number of gold spans in the label loss."""
        return 2 * self.total_words - self.size - self.unseen_labels

    def to(self, device: torch.device | str, *, non_blocking: bool = True) -> "Batch":
        """Copies the batch to a device in one transfer."""
        return self._transfer(lambda flat: flat.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Batch":
        """Copies the batch to pinned memory, from which transfers to a GPU do not block."""
        return self._transfer(Tensor.pin_memory)

    def _transfer(self, copy: Callable[[Tensor], Tensor]) -> "Batch":
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _NOT_TRANSFERRED}
        tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
        flat = self.flat if self.flat is not None else torch.cat([tensor.flatten() for tensor in tensors.values()])
        flat = copy(flat)
        chunks = torch.split(flat, [tensor.numel() for tensor in tensors.values()])
        views = {name: chunk.view(tensors[name].shape) for name, chunk in zip(tensors, chunks, strict=True)}
        return replace(self, flat=flat, **views)  # type: ignore[arg-type]  # every value is a tensor, as before
