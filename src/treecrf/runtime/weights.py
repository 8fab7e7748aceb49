"""Int8 state dicts: large matrices are stored as bytes with one scale per row.

The error of a weight is at most 1/254 of the largest weight in its row. Bytes take a quarter of the space of floats.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

_SCALE_PREFIX = "scale/"  # a weight's scales are stored under this prefix and the weight's name
_MIN_SIZE = 4096  # numbers; smaller tensors are not quantized


def quantize_state_dict(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights with large matrices as bytes, for `dequantize_state_dict`."""
    quantized: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if not weight.is_floating_point() or weight.ndim < 2 or weight.numel() < _MIN_SIZE:
            quantized[name] = weight
            continue
        weight = weight.float()
        scale = (weight.abs().amax(-1, keepdim=True) / 127).clamp(min=torch.finfo(torch.float32).tiny)
        quantized[name] = (weight / scale).round().to(torch.int8)
        quantized[_SCALE_PREFIX + name] = scale
    return quantized


def dequantize_state_dict(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights in float32, whether they were quantized or not."""
    return {
        name: _dequantize(weight, weights.get(_SCALE_PREFIX + name))
        for name, weight in weights.items()
        if _SCALE_PREFIX not in name
    }


def _dequantize(weight: Tensor, scale: Tensor | None) -> Tensor:
    if scale is not None:
        return weight.float() * scale
    return weight.float() if weight.is_floating_point() else weight
