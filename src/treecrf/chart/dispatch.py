"""The choice of a backend, and the autograd functions of log Z and the marginals.

The gradient of log Z is the chart of marginals, which the backends compute without autograd. Only second-order losses,
such as entropy, need the gradient of the marginals; it goes through the PyTorch operations of `torch_backend.py`, and
is itself differentiable.

Scores have any number of batch dimensions, the dimensions of `lengths`: (..., n + 1, n + 1), or (..., 2, n + 1, n + 1)
with additional scores of right children. So `torch.func.vmap` adds one more batch dimension.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from treecrf.chart import cpu_backend, cpu_tensors, torch_backend

WITHOUT_VMAP = "give the distribution one more batch dimension instead"  # for messages


def select_backend(scores: Tensor) -> ModuleType:
    """The fastest module for these scores; each has `inside`, `outside` and `cky`."""
    if scores.is_cuda:
        try:
            from treecrf.chart import triton_backend
        except ImportError:  # this build of torch has no Triton
            return torch_backend
        return triton_backend
    return cpu_tensors if scores.device.type == "cpu" and cpu_backend.available else torch_backend


def flatten(tensor: Tensor, lengths: Tensor) -> Tensor:
    """A tensor with one batch dimension in place of the dimensions of `lengths`."""
    return tensor.reshape((-1, *tensor.shape[lengths.dim() :]))


def unflatten(tensor: Tensor, lengths: Tensor) -> Tensor:
    """A tensor with the dimensions of `lengths` in place of its batch dimension."""
    return tensor.reshape((*lengths.shape, *tensor.shape[1:]))


def inside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The inside chart and log Z."""
    chart, log_z = select_backend(scores).inside(flatten(scores, lengths), lengths.reshape(-1).contiguous())
    return unflatten(chart, lengths), unflatten(log_z, lengths)


def outside(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """The marginals, shaped like scores."""
    flat = flatten(scores, lengths), lengths.reshape(-1).contiguous(), flatten(chart, lengths)
    return unflatten(select_backend(scores).outside(*flat), lengths)


def inside_outside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inside chart, log Z and the marginals; in one launch if the backend can."""
    backend = select_backend(scores)
    if hasattr(backend, "inside_outside"):
        results = backend.inside_outside(flatten(scores, lengths), lengths.reshape(-1).contiguous())
        chart, log_z, marginals = (unflatten(result, lengths) for result in results)
        return chart, log_z, marginals
    chart, log_z = inside(scores, lengths)
    return chart, log_z, outside(scores, lengths, chart)


def cky(scores: Tensor, lengths: Tensor) -> Tensor:
    """The best tree of every sentence; the leftmost split wins a tie."""
    trees: Tensor = BestTrees.apply(scores, lengths)
    return trees


class ChartFunction(torch.autograd.Function):
    """A function of tensors that begin with the same batch dimensions, for autograd and for `torch.func`."""

    shared_arguments = 0  # the number of last arguments that have no batch dimensions

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        """Adds the dimension of `torch.func.vmap` to the batch."""
        batched = len(arguments) - cls.shared_arguments
        tensors = [
            tensor
            if tensor is None
            else tensor.expand(info.batch_size, *tensor.shape)
            if dim is None
            else tensor.movedim(dim, 0)
            for tensor, dim in zip(arguments[:batched], in_dims[:batched], strict=True)
        ]
        results = cls.apply(*tensors, *arguments[batched:])
        return results, (0,) * len(results) if isinstance(results, tuple) else 0

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise NotImplementedError(
            "charts have no forward mode; for a Hessian use torch.func.jacrev(torch.func.grad(f))"
        )


class BestTrees(ChartFunction):
    """The best trees, which have no gradient."""

    @staticmethod
    def forward(scores: Tensor, lengths: Tensor) -> Tensor:
        trees = select_backend(scores).cky(flatten(scores, lengths), lengths.reshape(-1).contiguous())
        return unflatten(trees, lengths)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)


class InsideOutside(ChartFunction):
    """The inside chart, log Z and the marginals of scores without a gradient."""

    @staticmethod
    def forward(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return inside_outside(scores, lengths)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(*output)


class LogPartition(ChartFunction):
    """log Z, and the inside chart."""

    @staticmethod
    def forward(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        chart, log_z = inside(scores, lengths)
        return log_z, chart

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, output[1])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)  # no zeros for the chart

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None]:
        if grads[0] is None:
            return None, None
        scores, lengths, chart = ctx.saved_tensors
        marginals: Tensor = Marginals.apply(scores, lengths, chart)
        weights = grads[0].reshape(*lengths.shape, *(1 for _ in range(marginals.dim() - lengths.dim())))
        return (weights * marginals).to(scores.dtype), None


class Marginals(ChartFunction):
    """The probability of every span, for an inside chart."""

    @staticmethod
    def forward(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
        return outside(scores, lengths, chart)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        scores, lengths = ctx.saved_tensors
        return _covariances(scores, lengths, grads[0]), None, None


def _covariances(scores: Tensor, lengths: Tensor, weights: Tensor) -> Tensor:
    """The product of weights, shaped like scores, with the covariances of spans; differentiable like its arguments."""

    def log_partition(chart: Tensor) -> Tensor:
        return torch_backend.inside(flatten(chart, lengths), lengths.reshape(-1).contiguous())[1].sum()

    _, vjp, *_ = torch.func.vjp(torch.func.grad(log_partition), scores)
    product: Tensor = vjp(weights.to(scores.dtype))[0]
    return product
