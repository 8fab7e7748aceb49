"""The weights of a saved model. Large matrices may be stored as bytes with one scale per row.

The error of a weight is at most 1/254 of the largest weight in its row. Bytes take a quarter of the space of floats.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from treecrf.data.batch import Ints
from treecrf.data.scores import Floats

Array = npt.NDArray[Any]

_SCALE_PREFIX = "scale/"  # a weight's scales are stored under this prefix and the weight's name
_MIN_SIZE = 4096  # numbers; smaller arrays are not quantized


class Weights:
    """Weights by name, in float32. Quantized ones are converted at each access, so that only bytes stay in memory."""

    def __init__(self, arrays: Mapping[str, Array], prefix: str = "") -> None:
        self._arrays = arrays
        self._prefix = prefix

    def __getitem__(self, name: str) -> Floats:
        return _dequantize(self._arrays, self._prefix + name)

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._arrays

    def get(self, name: str) -> Floats | None:
        """The weight, or None if the model does not have it."""
        is_known = name in self
        return self[name] if is_known else None

    def table(self, name: str) -> "EmbeddingTable":
        """The weight as a table of vectors, whose rows are converted when they are read."""
        return EmbeddingTable(self._arrays[self._prefix + name], self._arrays.get(_SCALE_PREFIX + self._prefix + name))

    def below(self, name: str) -> "Weights":
        """The weights whose names begin with `name` and a dot, without that beginning."""
        return Weights(self._arrays, f"{self._prefix}{name}.")


class EmbeddingTable:
    """Vectors by id, as floats, or as bytes with one scale per vector."""

    def __init__(self, rows: Array, scales: Array | None) -> None:
        self._rows = rows
        self._scales = scales

    def __getitem__(self, ids: Ints) -> Floats:
        rows = self._rows[ids]
        if self._scales is None:
            return rows.astype(np.float32, copy=False)
        return np.multiply(rows, self._scales[ids], dtype=np.float32)


def quantize_weights(weights: Mapping[str, Array]) -> dict[str, Array]:
    """The weights with large matrices as bytes, for `dequantize_weights`."""
    quantized: dict[str, Array] = {}
    for name, weight in weights.items():
        if weight.dtype.kind != "f" or weight.ndim < 2 or weight.size < _MIN_SIZE:
            quantized[name] = weight
            continue
        weight = weight.astype(np.float32)
        scale = np.maximum(np.abs(weight).max(-1, keepdims=True) / np.float32(127), np.finfo(np.float32).tiny)
        quantized[name] = np.rint(weight / scale).astype(np.int8)
        quantized[_SCALE_PREFIX + name] = scale
    return quantized


def dequantize_weights(weights: Mapping[str, Array]) -> dict[str, Array]:
    """The weights in float32, whether they were quantized or not."""
    return {name: _dequantize(weights, name) for name in weights if not name.startswith(_SCALE_PREFIX)}


def stored_shapes(weights: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights, without those of their scales."""
    return {name: weight.shape for name, weight in weights.items() if not name.startswith(_SCALE_PREFIX)}


def _dequantize(weights: Mapping[str, Array], name: str) -> Any:
    weight, scale = weights[name], weights.get(_SCALE_PREFIX + name)
    if scale is not None:
        return np.multiply(weight, scale, dtype=np.float32)  # without a float copy of the bytes
    return weight.astype(np.float32, copy=False) if weight.dtype.kind == "f" else weight
