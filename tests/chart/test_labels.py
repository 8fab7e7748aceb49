"""Sums over the labels of each span, compared with PyTorch's logsumexp and with finite differences."""

import pytest
import torch

from treecrf.chart import cpu_tensors, torch_backend
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
    sum_weights = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sum_weights[:, 2] = 0.0  # the other two are then the factors of both groups
    arguments = scores, sums, torch.zeros_like(chart), sum_weights, LENGTHS, is_constituent, True
    weights = LabelWeights.apply(*arguments, True)
    assert weights.dtype == dtype and (weights[~IS_SPAN] == 0).all()
    assert torch.equal(LabelWeights.apply(*arguments, False), weights.where(is_constituent, 0.0))
    for number, group in enumerate((is_constituent, ~is_constituent)):
        if group.any():
            values = scores[IS_SPAN][:, group].double()
            close(sums[:, number][IS_SPAN], values.logsumexp(-1), rtol=1e-6, atol=1e-6)
            expected = values.softmax(-1).nan_to_num(0.0) * sum_weights[:, number][IS_SPAN][:, None]
            close(weights[IS_SPAN][:, group].double(), expected, rtol=1e-5, atol=1e-6)
        else:
            assert (sums[:, number][IS_SPAN] == -torch.inf).all()


@pytest.mark.parametrize("adds_labels", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_compiled_chart_and_weights_equal_pytorch(adds_labels, dtype):
    generator = torch.Generator().manual_seed(3)
    scores, is_constituent = 30 * random_labels(20, dtype), torch.arange(20) < 15
    scores[0, 0, 1, :15] = -torch.inf
    scores[0, 0, 2, :15] -= 3000.0  # far below the free labels
    scores[0, 1, 3] = -torch.inf
    scores[1, 0, 1, 15:], scores[1, 0, 1, :15] = -torch.inf, -3000.0  # an empty group beside small scores
    offsets, chart, sum_weights = (torch.randn(2, *s, 4, 4, generator=generator).double() for s in ((), (2,), (3,)))
    results = cpu_tensors.label_chart(offsets, scores, LENGTHS, is_constituent, adds_labels)
    expected = torch_backend.label_chart(offsets, scores.double(), LENGTHS, is_constituent, adds_labels)
    close(results, expected, rtol=1e-6, atol=1e-5 if dtype == torch.float32 else 1e-12)
    for weights in (None, sum_weights):
        arguments = expected[1], chart, weights, LENGTHS, is_constituent, adds_labels, True
        gradient = torch_backend.label_weights(scores.double(), *arguments)
        close(cpu_tensors.label_weights(scores, *arguments).double(), gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("adds_labels", [True, False])
def test_derivatives_equal_finite_differences(adds_labels):
    is_constituent = torch.tensor([True, False, True, False, True])
    scores = random_labels(5).nan_to_num(0.0).requires_grad_()

    offsets = torch.randn(2, 4, 4, dtype=torch.float64).requires_grad_()

    def compute(*tensors: torch.Tensor) -> torch.Tensor:
        return LabelChart.apply(*tensors, LENGTHS, is_constituent, adds_labels)

    assert torch.autograd.gradcheck(compute, (offsets, scores))
    assert torch.autograd.gradgradcheck(compute, (offsets, scores), fast_mode=True)


@pytest.mark.parametrize("flags", [(True, True), (False, True), (True, False)])
@pytest.mark.parametrize("has_sum_weights", [True, False])
def test_derivatives_of_weights_equal_finite_differences(flags, has_sum_weights):
    is_constituent = torch.tensor([True, False, True, False, True])
    scores = random_labels(5).nan_to_num(0.0).requires_grad_()
    sums, chart, sum_weights = (torch.randn(2, n, 4, 4, dtype=torch.float64).requires_grad_() for n in (3, 2, 3))
    tensors = (scores, sums, chart, sum_weights) if has_sum_weights else (scores, sums, chart)

    def weigh(*parts: torch.Tensor) -> torch.Tensor:
        return LabelWeights.apply(*parts, *([] if has_sum_weights else [None]), LENGTHS, is_constituent, *flags)

    assert torch.autograd.gradcheck(weigh, tensors)
    assert torch.autograd.gradgradcheck(weigh, tensors, fast_mode=True)
