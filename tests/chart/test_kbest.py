import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chart.charts import charts, clean
from treecrf.chart import naive
from treecrf.chart.crf import SpanCRF
from treecrf.chart.kbest import LazyTrees

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


@given(charts(max_words=6, max_batch=1), st.randoms())
@settings(max_examples=30)
def test_trees_may_be_requested_in_any_order(chart, random):
    (scores,), (length,) = clean(*chart), chart[1].tolist()
    expected, _ = naive.tree_scores(scores, length)
    order = list(range(len(expected)))
    random.shuffle(order)
    lazy_trees = LazyTrees(scores.numpy(), length)
    for rank in order:
        assert sorted(lazy_trees.spans(rank)) == [tuple(span) for span in expected[rank].nonzero().tolist()]
    assert lazy_trees.spans(len(expected)) == [] == lazy_trees.spans(len(expected) + 3)


def test_only_trees_that_the_order_depends_on_are_ranked():
    lazy_trees = LazyTrees(np.random.default_rng(0).standard_normal((41, 41)), 40)
    lazy_trees.spans(0)
    ranked = sum(len(ranking.ranked) for ranking in lazy_trees.rankings.values())
    assert ranked == 79 and len(lazy_trees.rankings) == 79  # the spans of one tree
