"""The Triton backend against the torch backend: on a GPU if there is one, or else in Triton's interpreter."""

import pytest
import torch
from hypothesis import given, settings

from chart.charts import charts
from treecrf.chart import torch_backend
from treecrf.chart.crf import SpanCRF

triton_backend = pytest.importorskip("treecrf.chart.triton_backend", reason="Triton is not installed")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
close = torch.testing.assert_close


def check(scores, lengths, *, atol):
    """Compares values and marginals up to rounding, and the best tree exactly."""
    chart, log_z = triton_backend.inside(scores, lengths)
    expected_chart, expected = torch_backend.inside(scores, lengths)
    close(log_z, expected, rtol=1e-6, atol=atol)
    marginals = torch_backend.outside(scores, lengths, expected_chart)
    close(triton_backend.outside(scores, lengths, chart), marginals, atol=atol, rtol=1e-4)
    _, log_z, fused_marginals = triton_backend.inside_outside(scores, lengths)
    close(log_z, expected, rtol=1e-6, atol=atol)
    close(fused_marginals, marginals, atol=atol, rtol=1e-4)
    assert torch.equal(triton_backend.cky(scores, lengths), torch_backend.cky(scores, lengths))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("longest", [1, 2, 3, 7, 15, 16, 17, 31, 32, 33])
def test_lengths_around_the_block_sizes_match_the_torch_backend(longest, dtype):
    if DEVICE == "cpu" and longest > 30 and dtype != torch.float32:
        pytest.skip("needs a GPU: the interpreter takes long, and other lengths cover the type")
    generator = torch.Generator().manual_seed(longest)
    lengths = torch.tensor([longest, max(1, longest - 1)], device=DEVICE)
    scores = (2 * torch.randn(2, longest + 1, longest + 1, generator=generator)).to(DEVICE, dtype)
    scores[~torch_backend.span_mask(lengths, longest + 1)] = torch.nan
    check(scores, lengths, atol=1e-5)


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU: the interpreter would take hours")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("batch", [2, 40, 300])
@pytest.mark.parametrize("longest", [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 256, 257, 400, 1000])
def test_long_sentences_and_large_batches_match_the_torch_backend_on_a_gpu(longest, batch, dtype):
    if batch * longest**2 > 10_000_000:
        pytest.skip("the torch backend would run out of memory")
    generator = torch.Generator().manual_seed(longest)
    lengths = torch.randint(1, longest + 1, (batch,), generator=generator)
    lengths[0] = longest
    scores = torch.randn(batch, longest + 1, longest + 1, generator=generator).to(DEVICE, dtype)
    lengths = lengths.to(DEVICE)
    scores[~torch_backend.span_mask(lengths, longest + 1)] = torch.nan
    check(scores, lengths, atol=2e-5)


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
@pytest.mark.parametrize("longest", [25, 33, 130, 400])
def test_gradients_on_a_gpu_match_autograd(longest):
    lengths = torch.tensor([longest, longest // 2], device=DEVICE)
    scores = torch.randn(2, longest + 1, longest + 1, device=DEVICE, requires_grad=True)
    weights = torch.rand(2, device=DEVICE)
    (grad,) = torch.autograd.grad((SpanCRF(scores, lengths).log_partition * weights).sum(), scores)
    (expected,) = torch.autograd.grad((torch_backend.inside(scores, lengths)[1] * weights).sum(), scores)
    close(grad, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy in the interpreter warns at -inf minus -inf
@given(charts(max_words=6, right_scores=True))
@settings(max_examples=15)
def test_constrained_scores_in_float64_match_the_torch_backend(chart):
    scores, lengths = (tensor.to(DEVICE) for tensor in chart)
    check(scores, lengths, atol=1e-9)


def test_scores_may_have_any_strides():
    scores = torch.randn(6, 6, 2, device=DEVICE).permute(2, 1, 0)
    check(scores, torch.tensor([5, 3], device=DEVICE), atol=1e-5)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_score_of_nan_makes_log_z_nan():
    scores = torch.randn(1, 6, 6, device=DEVICE)
    scores[0, 1, 3] = torch.nan
    assert triton_backend.inside(scores, torch.tensor([5], device=DEVICE))[1].isnan().all()
