import sys
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings

from chart.charts import charts, clean
from treecrf.chart import cpu_backend, cpu_tensors, dispatch, naive, torch_backend
from treecrf.chart.crf import SpanCRF

close = torch.testing.assert_close


@given(charts(max_words=6))
@settings(max_examples=40)
def test_gradients_of_log_partition_and_entropy_match_the_enumeration(chart):
    scores, lengths = chart
    for quantity, definition in (
        (lambda c: c.log_partition, naive.log_partition),
        (lambda c: c.entropy, naive.entropy),
    ):
        leaf = clean(scores, lengths).requires_grad_()
        naive_leaf = clean(scores, lengths).requires_grad_()
        value = quantity(SpanCRF(leaf, lengths))
        close(value, definition(naive_leaf, lengths), atol=1e-9, rtol=1e-9)
        (grad,) = torch.autograd.grad(value.sum(), leaf)
        (expected,) = torch.autograd.grad(definition(naive_leaf, lengths).sum(), naive_leaf)
        close(grad, expected.nan_to_num(0.0), atol=1e-8, rtol=1e-7)


DIFFERENTIABLE = {
    "log_partition": lambda crf, other: crf.log_partition,
    "marginals": lambda crf, other: crf.marginals,
    "log_prob": lambda crf, other: crf.log_prob(other.argmax),
    "entropy": lambda crf, other: crf.entropy,
    "cross_entropy": lambda crf, other: crf.cross_entropy(other),
    "kl": lambda crf, other: crf.kl(other),
}


@pytest.mark.parametrize("backend", ["compiled", "torch"])
@pytest.mark.parametrize("quantity", DIFFERENTIABLE)
@pytest.mark.parametrize("lengths", [[1], [4, 2]], ids=str)
def test_first_and_second_derivatives_equal_finite_differences(quantity, lengths, backend, monkeypatch):
    if backend == "torch":
        monkeypatch.setattr(dispatch, "select_backend", lambda scores: torch_backend)
    generator = torch.Generator().manual_seed(3)
    size = max(lengths) + 1
    shape = (len(lengths), size, size)
    first, second = (torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2))

    def compute(scores, other_scores):
        return DIFFERENTIABLE[quantity](SpanCRF(scores, lengths), SpanCRF(other_scores, lengths))

    assert torch.autograd.gradcheck(compute, (first, second))
    assert torch.autograd.gradgradcheck(compute, (first, second))


def test_the_hessian_of_the_entropy_is_not_zero():
    scores = torch.randn(1, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(lambda chart: SpanCRF(chart, [4]).entropy.sum(), scores)
    assert hessian.abs().max() > 0.1


def test_gradients_have_the_dtype_of_the_scores():
    scores = torch.randn(1, 5, 5).bfloat16().requires_grad_()
    SpanCRF(scores, [4]).log_partition.sum().backward()
    assert scores.grad is not None and scores.grad.dtype == torch.bfloat16


def test_a_backend_with_a_fused_pass_computes_both_at_once(monkeypatch):
    results = torch.rand(3, 1).unbind()
    fused = SimpleNamespace(inside_outside=lambda scores, lengths: results)
    monkeypatch.setattr(dispatch, "select_backend", lambda scores: fused)
    assert dispatch.inside_outside(torch.zeros(1, 2, 2), torch.tensor([1])) == results


def test_the_compiled_backend_is_selected_for_tensors_on_the_cpu():
    expected = cpu_tensors if cpu_backend.available else torch_backend
    assert dispatch.select_backend(torch.zeros(1)) is expected
    assert dispatch.select_backend(torch.zeros(1, device="meta")) is torch_backend


def test_without_triton_a_gpu_runs_the_operations_of_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "treecrf.chart.triton_backend", None)
    monkeypatch.delattr("treecrf.chart.triton_backend", raising=False)
    assert dispatch.select_backend(SimpleNamespace(is_cuda=True)) is torch_backend


@pytest.mark.parametrize("dim", [0, 1])
def test_vmap_of_results_equals_a_loop(dim):
    scores, lengths = torch.randn(3, 2, 5, 5), torch.tensor([4, 3])
    log_z, inner = dispatch.LogPartition.apply(scores, lengths.expand(3, 2))
    marginals = dispatch.Marginals.apply(scores, lengths.expand(3, 2), inner)
    log_partition = torch.func.vmap(dispatch.LogPartition.apply, in_dims=(dim, None))
    outside = torch.func.vmap(dispatch.Marginals.apply, in_dims=(dim, None, 0))
    close(log_partition(scores.movedim(0, dim), lengths)[0], log_z)
    close(outside(scores.movedim(0, dim), lengths, inner), marginals)
    close(marginals[1], SpanCRF(scores[1], lengths).marginals)
