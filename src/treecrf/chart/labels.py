"""Sums over the labels of a span: the logsumexp over two groups of labels, and its gradient.

Label scores are (..., n + 1, n + 1, labels), after the dimensions of `lengths`. `is_constituent` (labels,) divides the
labels into constituents and free labels. Cells outside the sentences are not read. All derivatives are again sums of
this kind, so there are derivatives of any order.
"""

from typing import Any

import torch
from torch import Tensor

from treecrf.chart.dispatch import add_batch_dimension
from treecrf.chart.torch_backend import span_mask


class LabelSums(torch.autograd.Function):
    """The logsumexp of each group in float64, (..., n + 1, n + 1, 2): constituents, free labels; 0 outside."""

    @staticmethod
    def forward(scores: Tensor, lengths: Tensor, is_constituent: Tensor) -> Tensor:
        is_span = span_mask(lengths, scores.shape[-2])[..., None]
        groups = [scores.masked_fill(~group, -torch.inf) for group in (is_constituent, ~is_constituent)]
        return torch.stack([group.logsumexp(-1) for group in groups], -1).double().where(is_span, 0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        scores, lengths, is_constituent, sums = ctx.saved_tensors
        return LabelWeights.apply(scores, sums, grads[0], lengths, is_constituent), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Tensor:
        scores, lengths, is_constituent, sums = ctx.saved_tensors
        weights = LabelWeights.apply(scores, sums, torch.ones_like(sums), lengths, is_constituent)
        return _group_sums(weights * tangents[0], is_constituent)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, int]:
        return LabelSums.apply(*add_batch_dimension(info.batch_size, in_dims[:-1], tensors[:-1]), tensors[-1]), 0


class LabelWeights(torch.autograd.Function):
    """exp(score - sum of its group) times a factor of the group, shaped like the scores; 0 outside the sentences.

    `sums` and `factors` are (..., n + 1, n + 1, 2).
    """

    @staticmethod
    def forward(scores: Tensor, sums: Tensor, factors: Tensor, lengths: Tensor, is_constituent: Tensor) -> Tensor:
        group = (~is_constituent).long()
        is_used = (span_mask(lengths, scores.shape[-2])[..., None] & (sums > -torch.inf))[..., group]
        weights = (scores - sums.to(scores.dtype)[..., group]).exp() * factors.to(scores.dtype)[..., group]
        return weights.where(is_used, 0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        scores, sums, factors, lengths, is_constituent = ctx.saved_tensors
        grad_scores = grads[0] * LabelWeights.apply(scores, sums, factors, lengths, is_constituent)
        weights = LabelWeights.apply(scores, sums, torch.ones_like(factors), lengths, is_constituent)
        grad_factors = _group_sums(grads[0] * weights, is_constituent)
        return grad_scores, -_group_sums(grad_scores, is_constituent), grad_factors, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Tensor:
        scores, sums, factors, lengths, is_constituent = ctx.saved_tensors
        grad_scores, grad_sums, grad_factors = tangents[:3]
        weights = LabelWeights.apply(scores, sums, factors, lengths, is_constituent)
        group = (~is_constituent).long()
        changes = LabelWeights.apply(scores, sums, grad_factors, lengths, is_constituent)
        return weights * (grad_scores - grad_sums[..., group]) + changes

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, int]:
        return LabelWeights.apply(*add_batch_dimension(info.batch_size, in_dims[:-1], tensors[:-1]), tensors[-1]), 0


def _group_sums(values: Tensor, is_constituent: Tensor) -> Tensor:
    """The sums over constituents and over free labels, in float64."""
    return values.double() @ torch.stack((is_constituent, ~is_constituent), -1).double()
