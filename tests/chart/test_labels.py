"""Sums over the labels of each span, compared with PyTorch's logsumexp and with finite differences."""

import pytest
import torch

from treecrf.chart.labels import LabelSums, LabelWeights
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
    sums = LabelSums.apply(scores, LENGTHS, is_constituent)
    assert sums.dtype == torch.float64 and (sums[~IS_SPAN] == 0).all()
    factors = torch.rand(2, 4, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = LabelWeights.apply(scores, sums, factors, LENGTHS, is_constituent)
    assert weights.dtype == dtype and (weights[~IS_SPAN] == 0).all()
    for number, group in enumerate((is_constituent, ~is_constituent)):
        if group.any():
            values = scores[IS_SPAN][:, group].double()
            close(sums[IS_SPAN][:, number], values.logsumexp(-1), rtol=1e-6, atol=1e-6)
            expected = values.softmax(-1).nan_to_num(0.0) * factors[IS_SPAN][:, number, None]
            close(weights[IS_SPAN][:, group].double(), expected, rtol=1e-5, atol=1e-6)
        else:
            assert (sums[IS_SPAN][:, number] == -torch.inf).all()


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # PyTorch's forward mode calls it
def test_derivatives_equal_finite_differences():
    is_constituent = torch.tensor([True, False, True, False, True])
    scores = random_labels(5).nan_to_num(0.0).requires_grad_()

    def compute(values: torch.Tensor) -> torch.Tensor:
        return LabelSums.apply(values, LENGTHS, is_constituent)

    assert torch.autograd.gradcheck(compute, (scores,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(compute, (scores,))
    sums, factors = (torch.randn(2, 4, 4, 2, dtype=torch.float64).requires_grad_() for _ in range(2))

    def weigh(*tensors: torch.Tensor) -> torch.Tensor:
        return LabelWeights.apply(*tensors, LENGTHS, is_constituent)

    assert torch.autograd.gradcheck(weigh, (scores, sums, factors), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(weigh, (scores, sums, factors), fast_mode=True)
