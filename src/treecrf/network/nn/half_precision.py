"""Half precision on a GPU: which tensors our Triton kernels take, and products of float32 on its tensor cores."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor


@cache
def has_triton() -> bool:
    """Whether this PyTorch comes with Triton; some builds do not."""
    return find_spec("triton") is not None


def runs_kernels(x: Tensor) -> bool:
    """Whether Triton kernels can read a tensor."""
    return x.is_cuda and has_triton()


def runs_half_kernels(x: Tensor) -> bool:
    """Whether the kernels for inference in half precision can read a tensor; they have no gradients."""
    return x.dtype == torch.float16 and not torch.is_grad_enabled() and runs_kernels(x)


@contextmanager
def tf32_products(is_wanted: bool) -> Iterator[None]:
    """A context in which matrix products of float32 round their factors to the ten bits that half precision has."""
    before = torch.get_float32_matmul_precision()
    if is_wanted:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
