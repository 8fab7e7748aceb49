"""Sums over the labels of a span, the scores of a chart that follow from them, and their gradients.

Label scores are (..., n + 1, n + 1, labels), after the dimensions of `lengths`. `is_constituent` (labels,) divides the
labels into constituents and free labels. Cells outside the sentences are not read. All derivatives are again sums of
this kind, so there are derivatives of any order.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from treecrf.chart import dispatch, torch_backend
from treecrf.chart.dispatch import ChartFunction, flatten, unflatten


def _backend(scores: Tensor) -> ModuleType:
    """The backend of these scores, or PyTorch's operations if it has no sums over labels."""
    backend = dispatch.select_backend(scores)
    return backend if hasattr(backend, "label_sums") else torch_backend


class LabelChart(ChartFunction):
    """The scores of a chart (..., 2, n + 1, n + 1), and the sums over labels (..., 3, n + 1, n + 1), in float64.

    The sums are the logsumexp over constituents, free labels and all labels. The scores of the chart are for spans, and
    in addition for right children (see `tree_crf.py`). A span's score is `offsets` plus the sum over all its labels, or
    without `adds_labels` only `offsets`.
    """

    shared_arguments = 2

    @staticmethod
    def forward(
        offsets: Tensor, label_scores: Tensor, lengths: Tensor, is_constituent: Tensor, adds_labels: bool
    ) -> tuple[Tensor, Tensor]:
        flat = flatten(label_scores, lengths), lengths.reshape(-1)
        sums = unflatten(_backend(label_scores).label_sums(*flat, is_constituent), lengths)
        constituents, _, labels = sums.unbind(-3)
        scores = torch.stack((offsets + labels if adds_labels else offsets.double(), constituents - labels), -3)
        # single words, and spans without an allowed label, have no additional score
        scores[..., 1, :, :].triu_(2).masked_fill_(labels == -torch.inf, 0.0)
        return scores, sums

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs[:4], output[1])
        ctx.adds_labels = inputs[4]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor, Tensor, None, None, None]:
        offsets, label_scores, lengths, is_constituent, sums = ctx.saved_tensors
        grad_chart, grad_sums = grads
        spans, right_children = (torch.zeros_like(sums[..., :2, :, :]) if grad_chart is None else grad_chart).unbind(-3)
        right_children = right_children.triu(2)
        direct = torch.stack((right_children, torch.zeros_like(right_children)), -3)
        labels = spans - right_children if ctx.adds_labels else -right_children
        if grad_sums is not None:
            direct, labels = direct + grad_sums[..., :2, :, :], labels + grad_sums[..., 2, :, :]
        shares = exp_difference(sums[..., :2, :, :], sums[..., 2:, :, :])
        factors = torch.addcmul(direct, labels[..., None, :, :], shares)
        weights = LabelWeights.apply(label_scores, sums, factors, lengths, is_constituent)
        return spans.to(offsets.dtype), weights, None, None, None


class LabelWeights(ChartFunction):
    """exp(score - sum of its group) times a factor of the group, shaped like the scores; 0 outside the sentences.

    `sums` are from `LabelChart`; `factors` of constituents and free labels are (..., 2, n + 1, n + 1).
    """

    shared_arguments = 1

    @staticmethod
    def forward(scores: Tensor, sums: Tensor, factors: Tensor, lengths: Tensor, is_constituent: Tensor) -> Tensor:
        charts = (flatten(tensor, lengths) for tensor in (scores, sums, factors))
        return unflatten(_backend(scores).label_weights(*charts, lengths.reshape(-1), is_constituent), lengths)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        scores, sums, factors, lengths, is_constituent = ctx.saved_tensors
        groups = torch.stack((is_constituent, ~is_constituent, torch.zeros_like(is_constituent)), -1).double()
        grad_scores = grads[0] * LabelWeights.apply(scores, sums, factors, lengths, is_constituent)
        weights = LabelWeights.apply(scores, sums, torch.ones_like(factors), lengths, is_constituent)
        grad_factors = (grads[0] * weights).double() @ groups[:, :2]
        grad_sums = -(grad_scores.double() @ groups)
        return grad_scores, grad_sums.movedim(-1, -3), grad_factors.movedim(-1, -3), None, None


def exp_difference(values: Tensor, totals: Tensor) -> Tensor:
    """exp(values - totals), and 0 where totals are -inf; all derivatives are finite."""
    if not torch.is_grad_enabled() or not (values.requires_grad or totals.requires_grad):
        return (values - totals).exp_().nan_to_num_(0.0)
    is_zero = totals == -torch.inf
    return (values - totals.masked_fill(is_zero, 0.0)).masked_fill(is_zero, -torch.inf).exp()
