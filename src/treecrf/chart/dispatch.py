"""The choice of a backend, and the autograd functions of log Z and the marginals.

The gradient of log Z is the chart of marginals, which the backends compute without autograd. Only second-order losses,
such as entropy, need the gradient of the marginals; it goes through the PyTorch operations of `torch_backend.py`, and
is itself differentiable.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from treecrf.chart import cpu_backend, cpu_tensors, torch_backend


def select_backend(scores: Tensor) -> ModuleType:
    """The fastest module for these scores; each has `inside`, `outside` and `cky`."""
    if scores.is_cuda:
        try:
            from treecrf.chart import triton_backend
        except ImportError:  # this build of torch has no Triton
            return torch_backend
        return triton_backend
    return cpu_tensors if scores.device.type == "cpu" and cpu_backend.available else torch_backend


def inside_outside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inside chart, log Z and the marginals; in one launch if the backend can."""
    backend = select_backend(scores)
    if hasattr(backend, "inside_outside"):
        return backend.inside_outside(scores, lengths)
    chart, log_z = backend.inside(scores, lengths)
    return chart, log_z, backend.outside(scores, lengths, chart)


class LogPartition(torch.autograd.Function):
    """log Z, and the inside chart."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        chart, log_z = select_backend(scores).inside(scores, lengths)
        ctx.save_for_backward(scores, lengths, chart)
        ctx.mark_non_differentiable(chart)
        return log_z, chart

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        marginals: Tensor = Marginals.apply(*ctx.saved_tensors)
        return (grads[0][:, None, None] * marginals).to(ctx.saved_tensors[0].dtype), None


class Marginals(torch.autograd.Function):
    """The probability of every span, for an inside chart."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
        ctx.save_for_backward(scores, lengths)
        marginals: Tensor = select_backend(scores).outside(scores, lengths, chart)
        return marginals

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """The product of the gradient with the covariances of spans; differentiable itself, if autograd asks for it."""
        scores, lengths = ctx.saved_tensors
        is_differentiable = torch.is_grad_enabled()
        with torch.enable_grad():
            leaf = scores if is_differentiable else scores.detach().requires_grad_()
            _, log_z = torch_backend.inside(leaf, lengths)
            (marginals,) = torch.autograd.grad(log_z.sum(), leaf, create_graph=True)
            if not marginals.requires_grad:  # all sentences have one word and so one tree: marginals are constant
                return torch.zeros_like(scores), None, None
            grad_marginals = grads[0].to(marginals.dtype)
            (grad,) = torch.autograd.grad(marginals, leaf, grad_marginals, create_graph=is_differentiable)
        return grad, None, None
