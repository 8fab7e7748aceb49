"""Sums over the labels of each span, compared with PyTorch's logsumexp and with finite differences."""

import pytest
import torch

from treecrf.chart.labels import LabelChart, LabelWeights
from treecrf.chart.torch_backend import span_mask

close = torch.testing.assert_close
LENGTHS = torch.tensor([3, 1])
IS_SPAN = span_mask(LENGTHS, 4)


def random_labels(labels: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    scores = torch.randn(2, 4, 4, labels, generator=torch.Generator().manual_seed(labels), dtype=torch.float64)
    return (3 * scores).to(dtype).masked_fill(~IS_SPAN[..., None], torch.nan)


@pytest.mark.parametrize("labels", [1, 2, 7, 8, 9, 30])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_and_weights_are_logsumexp_and_softmax_of_each_group(labels, dtype):
    scores, is_constituent = random_labels(labels, dtype), torch.arange(labels) % 3 != 1
    scores[0, 0, 2, 0] = -torch.inf
    chart, sums = LabelChart.apply(torch.zeros(2, 4, 4), scores, LENGTHS, is_constituent, True)
    close(chart[:, 0], sums[:, 2])
    assert sums.dtype == torch.float64 and (sums.movedim(1, -1)[~IS_SPAN] == 0).all()
    close(sums[:, 2][IS_SPAN], scores[IS_SPAN].double().logsumexp(-1), rtol=1e-6, atol=1e-6)
    factors = torch.rand(2, 2, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = LabelWeights.apply(scores, sums, factors, LENGTHS, is_constituent)
    assert weights.dtype == dtype and (weights[~IS_SPAN] == 0).all()
    for number, group in enumerate((is_constituent, ~is_constituent)):
        if group.any():
            values = scores[IS_SPAN][:, group].double()
            close(sums[:, number][IS_SPAN], values.logsumexp(-1), rtol=1e-6, atol=1e-6)
            expected = values.softmax(-1).nan_to_num(0.0) * factors[:, number][IS_SPAN][:, None]
            close(weights[IS_SPAN][:, group].double(), expected, rtol=1e-5, atol=1e-6)
        else:
            assert (sums[:, number][IS_SPAN] == -torch.inf).all()


@pytest.mark.parametrize("adds_labels", [True, False])
def test_derivatives_equal_finite_differences(adds_labels):
    is_constituent = torch.tensor([True, False, True, False, True])
    scores = random_labels(5).nan_to_num(0.0).requires_grad_()

    offsets = torch.randn(2, 4, 4, dtype=torch.float64).requires_grad_()

    def compute(*tensors: torch.Tensor) -> torch.Tensor:
        return LabelChart.apply(*tensors, LENGTHS, is_constituent, adds_labels)

    assert torch.autograd.gradcheck(compute, (offsets, scores))
    assert torch.autograd.gradgradcheck(compute, (offsets, scores), fast_mode=True)
    sums, factors = (torch.randn(2, n, 4, 4, dtype=torch.float64).requires_grad_() for n in (3, 2))

    def weigh(*tensors: torch.Tensor) -> torch.Tensor:
        return LabelWeights.apply(*tensors, LENGTHS, is_constituent)

    assert torch.autograd.gradcheck(weigh, (scores, sums, factors))
    assert torch.autograd.gradgradcheck(weigh, (scores, sums, factors), fast_mode=True)
