"""Weights as the compiled kernels read them: tiles of bytes, in the order of the products."""

from contextlib import suppress

import numpy as np

from treecrf.arrays import AnyArray, Floats
from treecrf.network.runtime.weights import Matrix

with suppress(ImportError):  # there is none if there was no C compiler at installation
    from treecrf.network.runtime import _kernels

LANES = 16  # LANES, TILE in kernels.h
TILE_COLUMNS = 64


def address_of(array: AnyArray) -> int:
    """The address of an array's numbers in memory."""
    return int(array.__array_interface__["data"][0])


def pack(weight: Matrix, bias: Floats | None = None) -> list[AnyArray]:
    """Packs weights (outputs, inputs) for a kernel: tiles of integers, scales, sums of integers, and biases."""
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
    return [tiles, scales, sums, biases]


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
