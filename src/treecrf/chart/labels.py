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
    return backend if hasattr(backend, "label_chart") else torch_backend


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
        flat = flatten(offsets, lengths), flatten(label_scores, lengths), lengths.reshape(-1)
        chart, sums = _backend(label_scores).label_chart(*flat, is_constituent, adds_labels)
        return unflatten(chart, lengths), unflatten(sums, lengths)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs[1:4], output[1])
        ctx.offsets_dtype, ctx.adds_labels = inputs[0].dtype, inputs[4]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor, Tensor, None, None, None]:
        label_scores, lengths, is_constituent, sums = ctx.saved_tensors
        chart = torch.zeros_like(sums[..., :2, :, :]) if grads[0] is None else grads[0]
        arguments = label_scores, sums, chart, grads[1], lengths, is_constituent, ctx.adds_labels, True
        return chart[..., 0, :, :].to(ctx.offsets_dtype), LabelWeights.apply(*arguments), None, None, None


class LabelWeights(ChartFunction):
    """The gradient of sum(chart * chart of the scores) + sum(sum_weights * sums), shaped like the label scores.

    It is exp(score - sum of its group) times a factor of the group, or 0 for free labels without `weighs_free`; outside
    the sentences it is 0. The sums are from `LabelChart`. With the marginals of the chart, and without free labels, the
    weights are the probabilities of labeled constituents.
    """

    shared_arguments = 3

    @staticmethod
    def forward(
        scores: Tensor,
        sums: Tensor,
        chart: Tensor,
        sum_weights: Tensor | None,
        lengths: Tensor,
        is_constituent: Tensor,
        adds_labels: bool,
        weighs_free: bool,
    ) -> Tensor:
        tensors = (None if part is None else flatten(part, lengths) for part in (scores, sums, chart, sum_weights))
        flags = is_constituent, adds_labels, weighs_free
        return unflatten(_backend(scores).label_weights(*tensors, lengths.reshape(-1), *flags), lengths)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:6])
        ctx.flags = inputs[6:]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scores, sums, chart, sum_weights, lengths, is_constituent = ctx.saved_tensors
        adds_labels, weighs_free = ctx.flags
        groups = torch.stack((is_constituent, ~is_constituent & weighs_free), -1).double()
        grad_scores = grads[0] * LabelWeights.apply(*ctx.saved_tensors, *ctx.flags)
        ones = torch.cat((torch.ones_like(chart), torch.zeros_like(chart[..., :1, :, :])), -3)
        shares = LabelWeights.apply(scores, sums, torch.zeros_like(chart), ones, lengths, is_constituent, *ctx.flags)
        grad_factors = ((grads[0] * shares).double() @ groups).movedim(-1, -3)
        terms = [sums, chart] if sum_weights is None else [sums, chart, sum_weights]

        def factors(sums: Tensor, chart: Tensor, sum_weights: Tensor | None = None) -> Tensor:
            return torch_backend.label_factors(sums, chart, sum_weights, adds_labels)

        _, vjp, *_ = torch.func.vjp(factors, *terms)
        grad_sums, grad_chart, *grad_weights = vjp(grad_factors)
        direct = (grad_scores.double() @ groups).movedim(-1, -3)
        grad_sums = grad_sums - torch.cat((direct, torch.zeros_like(direct[..., :1, :, :])), -3)
        return grad_scores, grad_sums, grad_chart, (grad_weights[0] if grad_weights else None), *([None] * 4)
