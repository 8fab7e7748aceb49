import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chart.charts import charts, clean
from chart.test_tree_crf import enumerate_trees, random_crf
from treecrf.chart import cpu_backend, naive, numpy_backend
from treecrf.chart.crf import SpanCRF

close = torch.testing.assert_close


@given(charts(max_words=7), st.integers(1, 9))
@settings(max_examples=50)
def test_kbest_returns_the_best_trees_in_order_and_argmax_the_first(chart, k):
    scores, lengths = chart
    crf = SpanCRF(scores, lengths)
    values, trees = crf.kbest(k)
    assert torch.equal(trees[0], crf.argmax)
    for b, length in enumerate(lengths.tolist()):
        expected, totals = naive.tree_scores(clean(scores, lengths)[b], length)
        count = min(k, len(totals))
        close(values[:count, b], totals[:count])
        assert torch.equal(trees[:count, b], expected[:count])
        assert (values[count:, b] == -torch.inf).all()
        assert not trees[count:, b].any()


@pytest.mark.parametrize("is_compiled", [True, False])
def test_the_compiled_search_is_used_where_it_is_built(is_compiled, monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(numpy_backend if is_compiled else cpu_backend, "best_trees", fail)
    monkeypatch.setattr(cpu_backend, "available", is_compiled and cpu_backend.available)
    if cpu_backend.available or not is_compiled:
        assert SpanCRF(torch.zeros(1, 4, 4), torch.tensor([3])).kbest(2)[1].sum() == 10


@pytest.mark.parametrize("lengths", [[1], [2, 1], [4, 3]], ids=str)
@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_the_k_best_labeled_trees_are_those_of_the_enumeration(lengths, k, is_compiled, monkeypatch):
    monkeypatch.setattr(cpu_backend, "available", is_compiled)
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


@given(charts(max_words=6), st.integers(1, 30), st.booleans())
@settings(max_examples=30)
def test_compiled_trees_are_those_of_the_definition(chart, k, has_splits):
    scores, lengths = (tensor.numpy() for tensor in chart)
    random = np.random.default_rng(k)
    values = scores[..., None] + random.normal(size=(*scores.shape, 3))
    values[random.random(values.shape) < 0.1] = -np.inf
    splits = random.normal(size=(*scores.shape, scores.shape[-1])) if has_splits else None
    arguments = values, lengths, k, np.array([True, False, True]), splits
    (totals, trees), expected = cpu_backend.best_trees(*arguments), numpy_backend.best_trees(*arguments)
    np.testing.assert_allclose(totals, expected[0])
    np.testing.assert_array_equal(trees, expected[1])


def test_k_is_at_least_one():
    with pytest.raises(ValueError, match="k is 0; expected at least 1"):
        random_crf([2]).kbest(0)
