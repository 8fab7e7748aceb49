"""The Triton kernels against plain tensors: in Triton's interpreter where there is no GPU, on it where there is one."""

import pytest
import torch
from hypothesis import given, settings

from chart.charts import charts
from treecrf.chart import torch_backend
from treecrf.chart.crf import SpanCRF

kernels = pytest.importorskip("treecrf.chart.triton_backend", reason="Triton is not installed")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
close = torch.testing.assert_close


def check(scores, lengths, *, atol):
    """Values and marginals within rounding; the best tree exactly."""
    chart, log_z = kernels.inside(scores, lengths)
    expected_chart, expected = torch_backend.inside(scores, lengths)
    close(log_z, expected, rtol=1e-6, atol=atol)
    marginals = torch_backend.outside(scores, lengths, expected_chart)
    close(kernels.outside(scores, lengths, chart), marginals, atol=atol, rtol=1e-4)
    _, log_z, at_once = kernels.inside_outside(scores, lengths)
    close(log_z, expected, rtol=1e-6, atol=atol)
    close(at_once, marginals, atol=atol, rtol=1e-4)
    assert torch.equal(kernels.cky(scores, lengths), torch_backend.cky(scores, lengths))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("longest", [1, 2, 3, 7, 15, 16, 17, 31, 32, 33])
def test_kernels_equal_plain_tensors_at_and_around_their_blocks(longest, dtype):
    generator = torch.Generator().manual_seed(longest)
    lengths = torch.tensor([longest, max(1, longest - 1)], device=DEVICE)
    scores = (2 * torch.randn(2, longest + 1, longest + 1, generator=generator)).to(DEVICE, dtype)
    scores[~torch_backend.within(lengths, longest + 1)] = torch.nan
    check(scores, lengths, atol=1e-5)


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU: the interpreter would take hours")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("batch", [2, 40, 300])
@pytest.mark.parametrize("longest", [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 256, 257, 400, 1000])
def test_kernels_equal_plain_tensors_at_every_length_on_a_gpu(longest, batch, dtype):
    if batch * longest**2 > 10_000_000:
        pytest.skip("the plain tensors would not fit")
    generator = torch.Generator().manual_seed(longest)
    lengths = torch.randint(1, longest + 1, (batch,), generator=generator)
    lengths[0] = longest
    scores = torch.randn(batch, longest + 1, longest + 1, generator=generator).to(DEVICE, dtype)
    lengths = lengths.to(DEVICE)
    scores[~torch_backend.within(lengths, longest + 1)] = torch.nan
    check(scores, lengths, atol=2e-5)


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
@pytest.mark.parametrize("longest", [25, 33, 130, 400])
def test_gradients_on_a_gpu_equal_those_of_autograd(longest):
    lengths = torch.tensor([longest, longest // 2], device=DEVICE)
    scores = torch.randn(2, longest + 1, longest + 1, device=DEVICE, requires_grad=True)
    weights = torch.rand(2, device=DEVICE)
    (ours,) = torch.autograd.grad((SpanCRF(scores, lengths).log_partition * weights).sum(), scores)
    (theirs,) = torch.autograd.grad((torch_backend.inside(scores, lengths)[1] * weights).sum(), scores)
    close(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # the interpreter's numpy, at -inf less -inf
@given(charts(max_words=6))
@settings(max_examples=15)
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
