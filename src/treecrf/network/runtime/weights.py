"""The weights of a saved model. Large matrices may be stored as bytes with one scale per row.

The error of a weight is at most 1/254 of the largest weight in its row. Bytes take a quarter of the space of floats.
The compiled kernels read them packed: tiles of bytes, in the order of the products.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from treecrf.arrays import AnyArray, Floats, Ints

SCALE_PREFIX = "scale/"  # a weight's scales are stored under this prefix and the weight's name
_MIN_SIZE = 4096  # numbers; smaller arrays are not quantized


class Weights:
    """Weights by name, in float32. Quantized ones are converted at each access, so that only bytes stay in memory."""

    def __init__(self, arrays: Mapping[str, AnyArray], prefix: str = "") -> None:
        self._arrays = arrays
        self._prefix = prefix

    def __getitem__(self, name: str) -> Floats:
        return self.matrix(name).to_float32()

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._arrays

    def get(self, name: str) -> Floats | None:
        """The weight, or None if the model does not have it."""
        return self[name] if name in self else None  # noqa: SIM401  # a dict's `get` would not convert

    def matrix(self, name: str) -> "Matrix":
        """The weight as it is stored: floats, or bytes with scales."""
        return Matrix(self._arrays[self._prefix + name], self._arrays.get(SCALE_PREFIX + self._prefix + name))

    def below(self, name: str) -> "Weights":
        """The weights whose names begin with `name` and a dot, without that beginning."""
        return Weights(self._arrays, f"{self._prefix}{name}.")


class Matrix(NamedTuple):
    """Rows of floats, or rows of bytes with one scale for each; any number of dimensions."""

    rows: AnyArray
    scales: AnyArray | None = None  # like rows, with a last dimension of 1

    def map(self, function: Callable[[AnyArray], AnyArray]) -> "Matrix":
        """Applies a function that moves or selects whole rows."""
        return Matrix(function(self.rows), None if self.scales is None else function(self.scales))

    def to_float32(self) -> Floats:
        """The rows as floats."""
        if self.scales is not None:
            return np.multiply(self.rows, self.scales, dtype=np.float32)  # without a float copy of the bytes
        return self.rows.astype(np.float32, copy=False) if self.rows.dtype.kind == "f" else self.rows

    def vectors(self, ids: Ints) -> Floats:
        """The rows with these numbers as floats; only these are converted."""
        return self.map(lambda rows: rows[ids]).to_float32()

    @staticmethod
    def concatenate(matrices: "Sequence[Matrix]") -> "Matrix":
        """The rows of several matrices; they are bytes if all of them are."""
        scales = [matrix.scales for matrix in matrices if matrix.scales is not None]
        if len(scales) < len(matrices):
            return Matrix(np.concatenate([matrix.to_float32() for matrix in matrices]))
        return Matrix(np.concatenate([matrix.rows for matrix in matrices]), np.concatenate(scales))


def quantize_weights(weights: Mapping[str, AnyArray], step: float = 0.0) -> dict[str, AnyArray]:
    """The weights with large matrices as bytes, for `dequantize_weights`.

    A weight is rounded to a multiple of `step` times the root mean square of its row, or of 1/127 of the largest weight
    of its row if that is more. With larger steps, most bytes are small, and archives compress them better.
    """
    quantized: dict[str, AnyArray] = {}
    for name, weight in weights.items():
        if weight.dtype.kind != "f" or weight.ndim < 2 or weight.size < _MIN_SIZE:
            quantized[name] = weight
            continue
        weight = weight.astype(np.float32)
        scale = np.maximum(np.abs(weight).max(-1, keepdims=True) / np.float32(127), np.finfo(np.float32).tiny)
        scale = np.maximum(scale, np.float32(step) * _root_mean_square(weight))
        quantized[name] = np.rint(weight / scale).astype(np.int8)
        quantized[SCALE_PREFIX + name] = scale
    return quantized


def _root_mean_square(rows: Floats) -> Floats:
    largest = np.maximum(np.abs(rows).max(-1, keepdims=True), np.finfo(np.float32).tiny)  # its square could overflow
    root: Floats = largest * np.sqrt(np.square(rows / largest).mean(-1, keepdims=True))
    return root


def dequantize_weights(weights: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """The weights in float32, whether they were quantized or not."""
    names = (name for name in weights if not name.startswith(SCALE_PREFIX))
    return {name: Weights(weights)[name] for name in names}


with suppress(ImportError):  # there is none if there was no C compiler at installation
    from treecrf.network.runtime import _kernels
LANES = 16  # LANES, TILE, NARROW_LEVELS and WIDE_LEVELS in kernels.h
TILE_COLUMNS = 64
_STEP_WEIGHTS = 8 * LANES
NARROW_LEVELS, WIDE_LEVELS = 255, 16383  # the largest integers of rows with 8 and with 14 bits


def address_of(array: AnyArray) -> int:
    """The address of an array's numbers in memory."""
    return int(array.__array_interface__["data"][0])


def pack(weight: Matrix, bias: Floats | None = None, *, levels: int) -> list[AnyArray]:
    """Packs weights (outputs, inputs) for a kernel.

    These are tiles of integers, whether their sums are large, scales, sums of integers, biases, and levels.

    The rows that are multiplied by the weights are rounded to integers from 0 to `levels`.
    """
    rows = weight.rows
    outputs, inputs = len(rows) + -len(rows) % TILE_COLUMNS, rows.shape[1] + -rows.shape[1] % LANES
    scales, sums, biases = np.zeros((3, outputs), np.float32)
    if bias is not None:
        biases[: len(bias)] = bias
    if weight.scales is None:
        rows = np.ascontiguousarray(rows, np.float32)
        tiles = np.zeros((outputs // LANES, inputs // 4, LANES, 4), np.int8)
        _kernels.pack(*rows.shape, *map(address_of, (rows, tiles, scales, sums)))
    else:
        padded = np.pad(rows, ((0, outputs - len(rows)), (0, inputs - rows.shape[1])))
        tiles = np.ascontiguousarray(padded.reshape(-1, LANES, inputs // 4, 4).swapaxes(1, 2))
        scales[: len(rows)] = weight.scales[:, 0]
        sums[: len(rows)] = rows.sum(1, dtype=np.int32)
    is_large = np.empty(tiles.size // _STEP_WEIGHTS, np.uint8)
    _kernels.find_large_sums(is_large.size, address_of(tiles), address_of(is_large))
    return [tiles, is_large, scales, sums, biases, np.array([levels])]


def softmax(x: Floats) -> Floats:
    """The softmax over the last axis."""
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def rounded_to_bytes(row: Floats) -> Floats:
    """The row after its quantization to bytes and back."""
    scale = max(np.abs(row).max(initial=0) / np.float32(127), np.finfo(np.float32).tiny)
    return np.rint(row / scale) * scale


def split_classes(x: Floats) -> Floats:
    """Reorders numbers (k, classes, d) for scorers.h to (classes / 16, k, 16, d), padded with zeros."""
    padded = np.pad(x, ((0, 0), (0, -x.shape[1] % LANES), (0, 0)))
    return padded.reshape(len(x), -1, LANES, x.shape[2]).swapaxes(0, 1)


def tile_gates(weight: AnyArray) -> AnyArray:
    """Reorders weights (4 * size, inputs) for lstm.h: the four gates of each 16 units, padded with zeros."""
    gates = weight.reshape(4, -1, weight.shape[1])
    padded = np.pad(gates, ((0, 0), (0, -gates.shape[1] % LANES), (0, 0))).reshape(4, -1, LANES, weight.shape[1])
    return padded.transpose(1, 0, 2, 3).reshape(-1, weight.shape[1])
