"""The Triton kernels over labels against the torch backend: on a GPU, or else in Triton's interpreter."""

import pytest
import torch

from chart.test_labels import LENGTHS, random_labels
from treecrf.chart import torch_backend

triton_labels = pytest.importorskip("treecrf.chart.triton_labels", reason="Triton is not installed")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def on_device(*tensors: torch.Tensor | None) -> list[torch.Tensor | None]:
    return [None if tensor is None else tensor.to(DEVICE) for tensor in tensors]


@pytest.mark.parametrize("labels", [1, 2, 7, 30, 100])
@pytest.mark.parametrize("adds_labels", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_chart_and_weights_equal_pytorch(labels, adds_labels, dtype):
    generator = torch.Generator().manual_seed(3)
    scores, is_constituent = random_labels(labels, dtype), torch.arange(labels) % 3 != 1
    scores[0, 0, 1, is_constituent] = -torch.inf
    scores[0, 0, 2, is_constituent] -= 3000.0  # far below the free labels
    scores[0, 1, 3] = -torch.inf
    offsets, chart, sum_weights = (torch.randn(2, *s, 4, 4, generator=generator).double() for s in ((), (2,), (3,)))
    arguments = on_device(offsets, scores, LENGTHS, is_constituent)
    results = triton_labels.label_chart(*arguments, adds_labels)
    expected = torch_backend.label_chart(offsets, scores.double(), LENGTHS, is_constituent, adds_labels)
    for result, values in zip(results, expected, strict=True):
        torch.testing.assert_close(result.cpu(), values, rtol=1e-6, atol=1e-5 if dtype == torch.float32 else 1e-12)
    for weights, weighs_free in ((None, True), (sum_weights, True), (None, False)):
        arguments = expected[1], chart, weights, LENGTHS, is_constituent
        gradient = torch_backend.label_weights(scores.double(), *arguments, adds_labels, weighs_free)
        result = triton_labels.label_weights(*on_device(scores, *arguments), adds_labels, weighs_free)
        assert result.dtype == dtype
        torch.testing.assert_close(result.cpu().double(), gradient, rtol=1e-5, atol=1e-6)


def test_batches_of_several_programs_and_views_have_the_same_sums():
    generator = torch.Generator().manual_seed(4)
    scores = torch.randn(3, 9, 9, 41, generator=generator, device="cpu").to(DEVICE)[..., 1:]  # not contiguous
    lengths = torch.tensor([8, 5, 1], device=DEVICE)
    offsets, is_constituent = torch.zeros(3, 9, 9, device=DEVICE), torch.arange(40, device=DEVICE) < 30
    arguments = offsets, scores, lengths, is_constituent, True
    for _ in range(2):  # the second launch uses the compiled kernel
        results = triton_labels.label_chart(*arguments)
    torch.testing.assert_close(results, torch_backend.label_chart(*arguments), rtol=1e-5, atol=1e-5)


def test_a_score_that_is_not_a_number_is_in_all_results():
    scores = torch.zeros(1, 2, 2, 3, device=DEVICE)
    scores[0, 0, 1, 0] = torch.nan
    lengths, is_constituent = torch.tensor([1], device=DEVICE), torch.tensor([True, True, False], device=DEVICE)
    chart, sums = triton_labels.label_chart(torch.zeros(1, 2, 2, device=DEVICE), scores, lengths, is_constituent, True)
    assert chart[0, 0, 0, 1].isnan() and sums[0, 0, 0, 1].isnan() and sums[0, 2, 0, 1].isnan()
