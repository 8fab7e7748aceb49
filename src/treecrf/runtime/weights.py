"""Weights as small as they can be kept: large matrices in bytes, with a scale for each row.

A weight is off by 1/254 of the largest in its row at most, and takes a quarter of the room.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

_SCALE = "scale/"  # stands before the name of the weight
_LARGE = 4096  # numbers; smaller ones stay as they are


def quantize_state_dict(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights in bytes where that is worth it, for `dequantize_state_dict`."""
    small: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if not weight.is_floating_point() or weight.ndim < 2 or weight.numel() < _LARGE:
            small[name] = weight
            continue
        weight = weight.float()
        scale = (weight.abs().amax(-1, keepdim=True) / 127).clamp(min=torch.finfo(torch.float32).tiny)
        small[name] = (weight / scale).round().to(torch.int8)
        small[_SCALE + name] = scale
    return small


def dequantize_state_dict(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights in 32 bits, whether they were shrunk or not."""
    return {name: _full(weight, weights.get(_SCALE + name)) for name, weight in weights.items() if _SCALE not in name}


def _full(weight: Tensor, scale: Tensor | None) -> Tensor:
    if scale is not None:
        return weight.float() * scale
    return weight.float() if weight.is_floating_point() else weight
