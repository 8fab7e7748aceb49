"""The Triton kernels against plain tensors: in Triton's interpreter where there is no GPU, on it where there is one."""

import pytest
import torch
from hypothesis import given, settings

from chart.charts import charts
from treecrf.chart import inside

kernels = pytest.importorskip("treecrf.chart.kernels", reason="Triton is not installed")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
close = torch.testing.assert_close


def check(scores, lengths, *, atol):
    """Values and marginals within rounding; the best tree exactly."""
    chart, log_z = kernels.inside(scores, lengths)
    expected_chart, expected = inside.inside(scores, lengths)
    close(log_z, expected, rtol=1e-6, atol=atol)
    marginals = kernels.outside(scores, lengths, chart)
    close(marginals, inside.outside(scores, lengths, expected_chart), atol=atol, rtol=1e-4)
    assert torch.equal(kernels.cky(scores, lengths), inside.cky(scores, lengths))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("longest", [1, 2, 3, 7, 15, 16, 17, 31, 32, 33])
def test_kernels_equal_plain_tensors_at_and_around_their_blocks(longest, dtype):
    generator = torch.Generator().manual_seed(longest)
    lengths = torch.tensor([longest, max(1, longest - 1)], device=DEVICE)
    scores = (2 * torch.randn(2, longest + 1, longest + 1, generator=generator)).to(DEVICE, dtype)
    scores[~inside.within(lengths, longest + 1)] = torch.nan
    check(scores, lengths, atol=1e-5)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # the interpreter's numpy, at -inf less -inf
@given(charts(max_words=6))
@settings(max_examples=15, deadline=None)
def test_kernels_equal_plain_tensors_under_constraints_in_float64(chart):
    scores, lengths = (tensor.to(DEVICE) for tensor in chart)
    check(scores, lengths, atol=1e-9)


def test_kernels_take_any_strides():
    scores = torch.randn(6, 6, 2, device=DEVICE).permute(2, 1, 0)
    check(scores, torch.tensor([5, 3], device=DEVICE), atol=1e-5)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_kernels_pass_nan_on():
    scores = torch.randn(1, 6, 6, device=DEVICE)
    scores[0, 1, 3] = torch.nan
    assert kernels.inside(scores, torch.tensor([5], device=DEVICE))[1].isnan().all()
