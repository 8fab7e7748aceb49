"""Sentences as the numbers that a network reads.

Positions are the words of a sentence with a start before and an end after them: n + 2. Ragged things are flat: what
belongs to a sentence or word is said by an index, computed where the strings were, so that the device never has to look
for anything. All integers travel in one piece.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

IGNORED = -100  # the class of what has no gold class that the network knows: left out of every loss

# ids of what stands for padding, unknown things, and the start and end of a sentence; real ones follow
PAD, UNK, BOS, EOS = SPECIAL = range(4)

_HOST = ("host_lengths", "host_char_lengths", "flat")


class Packing(NamedTuple):
    """Positions of padded sequences sorted by step, the longest first, without padding: how torch's LSTM takes them."""

    rows: Tensor  # (t,) where each packed position stands among the b * s padded ones
    places: Tensor  # (b, s) where each padded position is among the packed; 0 for padding
    counts: Tensor  # (s,) how many sequences reach each step; on the host


class Ragged:
    """How long sequences are that were padded to `width`, on the device and on the host, (b,) each."""

    def __init__(self, lengths: Tensor, host: Tensor, width: int) -> None:
        self.lengths = lengths
        self._host = host
        self._width = width

    @cached_property
    def packing(self) -> Packing:
        steps = torch.arange(int(self._host.max()))
        order = self._host.argsort(descending=True, stable=True)
        reached = steps[:, None] < self._host[order]
        rows = (order * self._width + steps[:, None])[reached]
        places = torch.zeros(len(order) * self._width, dtype=torch.int64)
        places[rows] = torch.arange(len(rows))
        device = self.lengths.device
        return Packing(rows.to(device), places.view(-1, self._width).to(device), reached.sum(1))


class Spelled(NamedTuple):
    """The characters of u distinct words."""

    chars: Tensor  # (u, c)
    lengths: Ragged
    ends: Tensor  # (u, 2) where their last character, read forward, and first, read backward, are among u * c * 2


class Spans(NamedTuple):
    """m spans of a batch whose charts are (b, n + 1, n + 1), by number; (m,) each."""

    cells: Tensor  # in flat charts: (sentence * (n + 1) + start) * (n + 1) + end
    lefts: Tensor  # boundaries among b * (n + 1)
    rights: Tensor

    @staticmethod
    def at(cells: Tensor, size: int) -> "Spans":
        """The spans at cells of charts of n + 1 = `size`."""
        lefts = cells // size
        return Spans(cells, lefts, lefts - lefts % size + cells % size)

    def of(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        """Their boundary vectors (m, d), of those of all boundaries (b, n + 1, d)."""
        return left.flatten(0, 1).index_select(0, self.lefts), right.flatten(0, 1).index_select(0, self.rights)

    def split(self, size: int) -> "list[Spans]":
        """The same in parts of at most `size`."""
        return [Spans(*part) for part in zip(*(torch.split(tensor, size) for tensor in self), strict=True)]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many ids there are of each kind; those of words and characters include the special ones."""

    words: int
    chars: int
    labels: int
    tags: int  # as classes; as input there are special ones besides
    vectors: int = 0  # rows of the pretrained table


@dataclass(frozen=True, kw_only=True)
class Batch:
    """b sentences of at most n words; what is None was not asked for."""

    size: int  # sentences
    total_words: int
    unseen_labels: int = 0  # gold spans whose label the vocabulary lacks; their label is IGNORED

    host_lengths: Tensor  # on the host, as torch's LSTM wants to know there
    lengths: Tensor  # (b,) words
    words: Tensor  # (b, n + 2)
    vectors: Tensor | None = None  # (b, n + 2) rows of the pretrained table
    tags: Tensor | None = None  # (b, n + 2) given tags

    spellings: Tensor | None = None  # (b, n + 2) which distinct word stands there
    chars: Tensor | None = None  # (u, c) the distinct words' characters
    char_lengths: Tensor | None = None  # (u,)
    char_ends: Tensor | None = None  # (u, 2); see Spelled
    host_char_lengths: Tensor | None = None

    pieces: Tensor | None = None  # (w, p) windows over the sentences' pieces
    piece_lengths: Tensor | None = None  # (w,) pieces in each window
    piece_rows: Tensor | None = None  # (k,) each piece's place among the w * p, in the window that sees most around it
    piece_words: Tensor | None = None  # (k,) the position, among b * (n + 2), that it is a piece of; that number: none
    piece_shares: Tensor | None = None  # (k,) into how many pieces that word is cut

    cells: Tensor | None = None  # (m,) the gold spans; see Spans
    lefts: Tensor | None = None
    rights: Tensor | None = None
    labels: Tensor | None = None  # (m,)
    gold_tags: Tensor | None = None  # (b, n), IGNORED in padding

    flat: Tensor | None = None  # what travelled: the tensors above are views of it

    @property
    def longest(self) -> int:
        """n, the words of the longest sentence."""
        return self.words.shape[1] - 2

    @property
    def positions(self) -> Ragged:
        """How many positions the sentences have: their words, a start and an end."""
        return Ragged(self.lengths + 2, self.host_lengths + 2, self.words.shape[1])

    @property
    def spelled(self) -> Spelled:
        assert self.chars is not None and self.char_lengths is not None and self.char_ends is not None
        assert self.host_char_lengths is not None
        lengths = Ragged(self.char_lengths, self.host_char_lengths, self.chars.shape[1])
        return Spelled(self.chars, lengths, self.char_ends)

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
        """Of all tensors: batches that have the same are read by the same kernels."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(tuple(value.shape) if isinstance(value, Tensor) else None for value in values)

    @property
    def total_labels(self) -> int:
        """Gold spans that a label loss counts."""
        return 2 * self.total_words - self.size - self.unseen_labels

    def to(self, device: torch.device | str, *, non_blocking: bool = True) -> "Batch":
        """The batch on a device, in one transfer."""
        return self._moved(lambda flat: flat.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Batch":
        """The batch in memory that a device copies from without waiting."""
        return self._moved(Tensor.pin_memory)

    def _moved(self, move: Callable[[Tensor], Tensor]) -> "Batch":
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _HOST}
        parts = {name: value for name, value in named.items() if isinstance(value, Tensor)}
        flat = self.flat if self.flat is not None else torch.cat([part.flatten() for part in parts.values()])
        flat = move(flat)
        pieces = torch.split(flat, [part.numel() for part in parts.values()])
        views = {name: piece.view(parts[name].shape) for name, piece in zip(parts, pieces, strict=True)}
        return replace(self, flat=flat, **views)  # type: ignore[arg-type]  # each field gets its own kind back
