"""The kernel of biaffine label scores compared with the scorer in float32."""

import pytest
import torch

from kernels import DEVICE
from treecrf.network.nn.batch import Spans
from treecrf.network.nn.scorers import Biaffine

triton_biaffine = pytest.importorskip("treecrf.network.nn.triton_biaffine", reason="Triton is not installed")


@pytest.mark.parametrize("bias_right", [True, False])
@pytest.mark.parametrize(("labels", "size"), [(3, 7), (70, 33), (130, 70)])
def test_scores_equal_the_scorer(labels, size, bias_right):
    torch.manual_seed(size)
    scorer = Biaffine(5, size, labels, bias_right=bias_right).to(DEVICE)
    for parameter in scorer.parameters(recurse=False):
        torch.nn.init.normal_(parameter)
        parameter.data = parameter.half().float()
    left, right = torch.randn(4, 6, 2, size, device=DEVICE).half().unbind(2)
    spans = torch.tensor([1, 2, 36 + 8, 3, 3 * 36 + 11], device=DEVICE)
    cells = torch.full((200,), -1, device=DEVICE)
    cells[torch.arange(5) * 30] = spans
    scores = triton_biaffine.label_scores(left, right, cells, triton_biaffine.pack_weights(scorer))
    with torch.no_grad():
        expected = scorer.at(left.float(), right.float(), Spans.at(spans, 6))
    assert scores.shape == (200, labels) and scores.dtype == torch.float32
    torch.testing.assert_close(scores[cells >= 0], expected, atol=1e-4 * size, rtol=1e-4)
