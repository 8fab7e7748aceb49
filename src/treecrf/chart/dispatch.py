"""The join: one place that chooses a backend, and the two autograd functions over it.

The gradient of log Z is the chart of marginals, which the backends compute without autograd. The gradient of the
marginals themselves, wanted only by second-order losses such as entropy, takes the plain tensors of `torch_backend.py`.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from treecrf.chart import cpu_backend, torch_backend


def backend(scores: Tensor) -> ModuleType:
    """The fastest room that can hold these scores: each has `inside`, `outside` and `cky`."""
    if scores.is_cuda:
        try:
            from treecrf.chart import triton_backend
        except ImportError:  # a build of torch that comes without Triton
            return torch_backend
        return triton_backend
    return cpu_backend if scores.device.type == "cpu" and cpu_backend.available else torch_backend


class LogPartition(torch.autograd.Function):
    """log Z, with the inside chart that led to it."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        chart, log_z = backend(scores).inside(scores, lengths)
        ctx.save_for_backward(scores, lengths, chart)
        ctx.mark_non_differentiable(chart)
        return log_z, chart

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        marginals: Tensor = Marginals.apply(*ctx.saved_tensors)
        return (grads[0][:, None, None] * marginals).to(ctx.saved_tensors[0].dtype), None


class Marginals(torch.autograd.Function):
    """The probability of every span, given the inside chart."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
        ctx.save_for_backward(scores, lengths)
        marginals: Tensor = backend(scores).outside(scores, lengths, chart)
        return marginals

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        scores, lengths = ctx.saved_tensors
        with torch.enable_grad():
            leaf = scores.detach().requires_grad_()
            _, log_z = torch_backend.inside(leaf, lengths)
            (marginals,) = torch.autograd.grad(log_z.sum(), leaf, create_graph=True)
            if not marginals.requires_grad:  # sentences of one word have one tree, whatever its score
                return torch.zeros_like(scores), None, None
            (grad,) = torch.autograd.grad(marginals, leaf, grads[0].to(marginals.dtype))
        return grad, None, None
