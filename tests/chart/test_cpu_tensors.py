import pytest
import torch

from chart.test_cpu_backend import assert_equal, compiled_results, random_scores
from treecrf.chart import cpu_backend, cpu_tensors

pytestmark = pytest.mark.skipif(not cpu_backend.available, reason="treecrf was installed without a C compiler")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_half_and_single_precision_scores_are_read_exactly(dtype):
    scores, lengths = random_scores(4, 23, 23).to(dtype), torch.tensor([22, 9, 1, 17])
    log_z, marginals, trees = compiled_results(scores, lengths)
    expected = compiled_results(scores.double(), lengths)
    assert log_z.dtype == torch.float64
    assert marginals.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert_equal((log_z, marginals, trees), (expected[0], expected[1].to(marginals.dtype), expected[2]))


def test_results_for_scores_that_need_a_gradient_need_none():
    scores, lengths = random_scores(2, 6, 6).requires_grad_(), torch.tensor([5, 3])
    chart, log_z = cpu_tensors.inside(scores, lengths)
    results = (chart, log_z, cpu_tensors.outside(scores, lengths, chart))
    assert not any(result.requires_grad for result in results)
