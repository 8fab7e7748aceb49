import pytest
import torch

from chart.test_tree_crf import enumerate_trees, random_crf
from treecrf.chart import tree_kbest


@pytest.mark.parametrize("lengths", [[1], [2, 1], [4, 3]], ids=str)
@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("max_candidates", [1, 1 << 26])
def test_the_k_best_trees_are_those_of_the_enumeration(lengths, k, max_candidates, monkeypatch):
    monkeypatch.setattr(tree_kbest, "_MAX_CANDIDATES", max_candidates)
    crf = random_crf(lengths)
    log_probs, trees = crf.kbest(k)
    assert log_probs.shape == (k, len(lengths))
    for sentence in range(len(lengths)):
        all_trees, scores = enumerate_trees(crf, sentence)
        best = scores.argsort(descending=True)[:k]
        count = len(best)
        torch.testing.assert_close(log_probs[:count, sentence], scores.log_softmax(0)[best])
        assert torch.equal(trees[:count, sentence], all_trees[best])
        assert (log_probs[count:, sentence] == -torch.inf).all() and (trees[count:, sentence] == -1).all()
    assert torch.equal(trees[0], crf.argmax)
