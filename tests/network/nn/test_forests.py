import pytest
import torch

from treecrf.chart.torch_backend import span_mask
from treecrf.network.nn.forests import _Forests

LENGTHS = torch.tensor([4, 2])


def random_forests(*, forbids: bool) -> _Forests:
    generator = torch.Generator().manual_seed(2)
    is_span = span_mask(LENGTHS, 5)
    cells = is_span.flatten().nonzero()[:, 0]
    log_probs = torch.randn(len(cells), 3, generator=generator).log_softmax(-1)
    if forbids:
        log_probs[1, :] = -torch.inf  # a span that no tree has
        log_probs[2, 1:] = -torch.inf
    return _Forests(
        scores=torch.randn(2, 5, 5, generator=generator),
        lengths=LENGTHS,
        is_span=is_span,
        cells=cells,
        log_probs=log_probs,
        costs=torch.tensor([0.0, 0.4, 0.8]).expand(len(cells), 3),
    )


@pytest.mark.parametrize("forbids", [False, True])
@pytest.mark.parametrize("mean_cost", [0.5, 2.0, 4.0])
def test_with_the_matching_factor_trees_have_the_mean_cost(forbids, mean_cost):
    forests = random_forests(forbids=forbids)
    crf, label_costs = forests.restrict(forests.matching_factor(torch.tensor(mean_cost)))
    cost = (crf.marginals.flatten()[forests.cells] * label_costs).sum()
    assert cost.item() == pytest.approx(mean_cost, abs=0.01)


def test_a_mean_cost_that_no_tree_has_gives_the_largest_factor():
    assert random_forests(forbids=False).matching_factor(torch.tensor(100.0)).item() == pytest.approx(-64, abs=0.01)
