"""Rounding of products as in the CPU runtime, with straight-through gradients: training then sees its errors."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

_ROW_LEVELS, _WEIGHT_LEVELS = 255, 127  # the largest integers of rows and of weights, as with the precision int8


class _ThisThread(threading.local):
    is_rounding = False


_this_thread = _ThisThread()


class _RoundedLinear(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.linear:
            x, weight, *rest = args
            return func(round_rows(x), round_weights(weight), *rest, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


@contextmanager
def rounded_products(is_wanted: bool = True) -> Iterator[None]:
    """A context in which linear layers and LSTMs multiply rows of 8 bits by weights of 8 bits, as the runtime does."""
    if not is_wanted or is_rounding():
        yield
        return
    _this_thread.is_rounding = True
    try:
        with _RoundedLinear():
            yield
    finally:
        _this_thread.is_rounding = False


def is_rounding() -> bool:
    """Whether this thread is in the context of rounded products."""
    return _this_thread.is_rounding


def round_rows(x: Tensor) -> Tensor:
    """Rounds each row (..., d) to 8 bits between its smallest and its largest number."""
    low, high = x.detach().aminmax(dim=-1, keepdim=True)
    return _round(x - low, (high - low) / _ROW_LEVELS) + low


def round_weights(weight: Tensor) -> Tensor:
    """Rounds the weights of each output (..., d) to 8 bits."""
    return _round(weight, weight.detach().abs().amax(-1, keepdim=True) / _WEIGHT_LEVELS)


def _round(x: Tensor, step: Tensor) -> Tensor:
    """Rounds to multiples of `step`; gradients pass unchanged."""
    rounded = (x.detach() / step.clamp(min=torch.finfo(x.dtype).tiny)).round() * step
    return x + (rounded - x.detach())
