"""Batches as torch tensors. All tensors of a batch share one buffer, which is copied to a device in one transfer."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from treecrf.arrays import Ints
from treecrf.network.data.batch import ArrayBatch, Batch

_ARRAYS = tuple(field.name for field in fields(ArrayBatch) if field.type not in ("int", int))


class Packing(NamedTuple):
    """Indices between padded sequences and the packed format of torch's LSTM: by step, longest sequence first."""

    padded_index: Tensor  # (t,) index of each packed position among the b * s padded positions
    packed_index: Tensor  # (b, s) index of each padded position among the packed positions; 0 in padding
    batch_sizes: Tensor  # (s,) sequences that reach each step; on the host


class SequenceLengths:
    """Lengths (b,) of sequences that are padded to `width`, on the device and on the host."""

    def __init__(self, on_device: Tensor, on_host: Ints, width: int) -> None:
        self.on_device = on_device
        self._on_host = on_host
        self._width = width

    @cached_property
    def packing(self) -> Packing:
        """The indices that pack these sequences."""
        steps = np.arange(self._on_host.max())
        order = np.argsort(-self._on_host, kind="stable")
        is_reached = steps[:, None] < self._on_host[order]
        padded_index = (order * self._width + steps[:, None])[is_reached]
        packed_index = np.zeros(len(order) * self._width, dtype=np.int64)
        packed_index[padded_index] = np.arange(len(padded_index))
        device = self.on_device.device
        return Packing(
            torch.from_numpy(padded_index).to(device),
            torch.from_numpy(packed_index).view(-1, self._width).to(device),
            torch.from_numpy(is_reached.sum(1)),
        )


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
        """Selects the spans' left and right vectors, (m, d) each, from the vectors of all boundaries, (b, n + 1, d)."""
        return left.flatten(0, 1).index_select(0, self.lefts), right.flatten(0, 1).index_select(0, self.rights)

    def split(self, size: int) -> "list[Spans]":
        """Splits the spans into chunks of at most `size`."""
        return [Spans(*chunk) for chunk in zip(*(torch.split(tensor, size) for tensor in self), strict=True)]


@dataclass(frozen=True, kw_only=True)
class TensorBatch(ArrayBatch[Tensor]):
    """A batch of torch tensors."""

    host: Batch  # the same batch as NumPy arrays
    flat: Tensor  # the shared buffer; all tensors are views of it

    @staticmethod
    def from_host(batch: Batch, *, pin_memory: bool = False) -> "TensorBatch":
        """The tensors of a batch; from pinned memory, transfers to a GPU do not block."""
        arrays = {name: getattr(batch, name) for name in _ARRAYS if getattr(batch, name) is not None}
        flat = torch.from_numpy(np.concatenate([array.ravel() for array in arrays.values()]))
        flat = flat.pin_memory() if pin_memory else flat
        return TensorBatch(
            size=batch.size,
            total_words=batch.total_words,
            unseen_labels=batch.unseen_labels,
            host=batch,
            flat=flat,
            **_views(flat, {name: array.shape for name, array in arrays.items()}),
        )

    def to(self, device: torch.device | str, *, non_blocking: bool = True) -> "TensorBatch":
        """Copies the batch to a device in one transfer."""
        tensors = {name: getattr(self, name) for name in _ARRAYS}
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items() if tensor is not None}
        flat = self.flat.to(device, non_blocking=non_blocking)
        return replace(self, flat=flat, **_views(flat, shapes))  # type: ignore[arg-type]  # every value is a tensor

    @property
    def device(self) -> torch.device:
        return self.flat.device

    @property
    def shapes(self) -> tuple[tuple[int, ...] | None, ...]:
        """The shapes of all tensors; a captured CUDA graph replays batches with equal shapes."""
        tensors = (getattr(self, name) for name in _ARRAYS)
        return tuple(None if tensor is None else tuple(tensor.shape) for tensor in tensors)

    @property
    def positions(self) -> SequenceLengths:
        """The number of positions of each sentence: start, words and end."""
        return SequenceLengths(self.lengths + 2, self.host.lengths + 2, self.words.shape[1])

    @property
    def char_sequences(self) -> SequenceLengths:
        """The number of characters of each distinct word."""
        chars, lengths = self.require("chars", "char_lengths")
        _, host_lengths = self.host.require("chars", "char_lengths")
        return SequenceLengths(lengths, host_lengths, chars.shape[1])

    @property
    def spans(self) -> Spans:
        """The gold spans."""
        return Spans(*self.require("cells", "lefts", "rights"))


def _views(flat: Tensor, shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Views of a flat buffer with these shapes, one after the other."""
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    chunks = torch.split(flat, sizes)
    return {name: chunk.view(shape) for (name, shape), chunk in zip(shapes.items(), chunks, strict=True)}
