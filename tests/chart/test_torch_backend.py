import pytest
import torch
from hypothesis import given, settings

from chart.charts import charts, clean
from treecrf.chart import naive, torch_backend

close = torch.testing.assert_close


@given(charts(max_words=6, right_scores=True))
@settings(max_examples=40)
def test_results_equal_the_enumeration_of_all_trees(chart):
    scores, lengths = chart
    inside, log_z = torch_backend.inside(scores, lengths)
    close(log_z, naive.log_partition(clean(scores, lengths), lengths), rtol=1e-12, atol=1e-12)
    marginals = torch_backend.outside(clean(scores, lengths), lengths, inside)
    close(marginals, naive.marginals(clean(scores, lengths), lengths), rtol=1e-11, atol=1e-12)
    pairs = zip(clean(scores, lengths), lengths.tolist(), strict=True)
    best = torch.stack([naive.tree_scores(sentence, length)[0][0] for sentence, length in pairs])
    assert torch.equal(torch_backend.cky(scores, lengths), best)


def test_scores_of_splits_are_added():
    generator = torch.Generator().manual_seed(1)
    scores, split_scores = (torch.randn(2, *[5] * dims, generator=generator).double() for dims in (2, 3))
    lengths = torch.tensor([4, 3])
    _, log_z = torch_backend.inside(scores, lengths, split_scores)
    best = torch_backend.cky(scores, lengths, split_scores)
    for number, length in enumerate(lengths.tolist()):
        trees, totals = naive.tree_scores(scores[number], length, split_scores[number])
        close(log_z[number], totals.logsumexp(0))
        assert torch.equal(best[number], trees[0])


def test_charts_by_width_and_by_fencepost_have_the_same_spans():
    scores = torch.arange(32.0).view(2, 4, 4).triu(1)
    rows = torch_backend.by_width(scores)
    assert rows.dtype == torch.float64
    assert rows[0, 1].tolist() == [1, 6, 11, 0] and rows[0, 3].tolist() == [3, 0, 0, 0] and not rows[:, 0].any()
    assert torch.equal(torch_backend.by_fencepost(rows), scores.double())


def test_the_mask_has_the_spans_of_each_sentence():
    mask = torch_backend.span_mask(torch.tensor([2, 1]), 3)
    assert mask.nonzero().tolist() == [[0, 0, 1], [0, 0, 2], [0, 1, 2], [1, 0, 1]]


def test_the_leftmost_split_wins_a_tie():
    tree = torch_backend.cky(torch.zeros(1, 5, 5), torch.tensor([4]))[0]
    assert tree.nonzero().tolist() == [[0, 1], [0, 4], [1, 2], [1, 4], [2, 3], [2, 4], [3, 4]]


def test_marginals_have_at_least_single_precision():
    for dtype, expected in ((torch.bfloat16, torch.float32), (torch.float64, torch.float64)):
        scores, lengths = torch.zeros(1, 3, 3, dtype=dtype), torch.tensor([2])
        chart, log_z = torch_backend.inside(scores, lengths)
        assert log_z.dtype == torch.float64
        assert torch_backend.outside(scores, lengths, chart).dtype == expected


def test_right_children_have_additional_scores():
    generator = torch.Generator().manual_seed(3)
    scores, right_scores = torch.randn(2, 2, 6, 6, generator=generator, dtype=torch.float64)
    lengths = torch.tensor([5, 3])
    charts = torch.stack((scores, right_scores), 1)
    _, log_z = torch_backend.inside(charts, lengths)
    best = torch_backend.cky(charts, lengths)
    for sentence, length in enumerate(lengths.tolist()):
        trees = naive.trees(length, 6)
        is_right = trees & (trees.long().cumsum(1) > 1)  # a longer span of the tree has the same end
        totals = (trees * scores[sentence] + is_right * right_scores[sentence]).sum((1, 2))
        close(log_z[sentence], totals.logsumexp(0))
        assert torch.equal(best[sentence], trees[totals.argmax()])


def test_the_logarithm_of_an_empty_sum_has_finite_gradients():
    terms = torch.tensor([[-torch.inf, 0.5], [-torch.inf, 1.5]], dtype=torch.float64, requires_grad=True)
    sums = torch_backend.logsumexp(terms, 0)
    close(sums.detach(), torch.tensor([-torch.inf, torch.tensor([0.5, 1.5]).double().logsumexp(0)]).double())
    (gradient,) = torch.autograd.grad(sums[1], terms)
    assert gradient.isfinite().all()
    close(torch_backend.logsumexp(terms[:, 1:].T), terms[:, 1:].T.logsumexp(1))


@given(charts(max_words=5))
@settings(max_examples=20)
def test_samples_are_trees_of_their_sentence(chart):
    scores, lengths = chart
    samples = torch_backend.sample(scores, lengths, None, 3, torch.Generator().manual_seed(0))
    assert samples.shape == (3, *scores.shape)
    for sentence, length in enumerate(lengths.tolist()):
        trees, _ = naive.tree_scores(clean(scores, lengths)[sentence], length)
        assert all((trees == sample[sentence]).flatten(1).all(1).any() for sample in samples)


def test_sums_over_labels_are_over_the_allowed_ones():
    scores = torch.randn(1, 3, 3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    is_constituent = torch.tensor([True, False, True])
    chart, sums = torch_backend.label_chart(torch.zeros(1, 3, 3), scores, torch.tensor([2]), is_constituent, True)
    constituents, free, labels = (scores[0, 0, 2, places].logsumexp(0) for places in ([0, 2], [1], [0, 1, 2]))
    close(sums[0, :, 0, 2], torch.stack((constituents, free, labels)))
    close(chart[0, :, 0, 2], torch.stack((labels, constituents - labels)))
    assert not chart[0, 1].triu(1)[0, 1] and not sums[0, :, 2, 1].any()


@pytest.mark.parametrize("adds_labels", [True, False])
def test_weights_of_labels_are_the_gradient_of_the_chart_and_the_sums(adds_labels):
    generator = torch.Generator().manual_seed(6)
    scores = torch.randn(2, 4, 4, 5, generator=generator, dtype=torch.float64).requires_grad_()
    chart_gradient, sum_gradient = (torch.randn(2, n, 4, 4, generator=generator, dtype=torch.float64) for n in (2, 3))
    masks = torch.tensor([3, 2]), torch.tensor([True, False, True, True, False]), adds_labels
    chart, sums = torch_backend.label_chart(torch.zeros(2, 4, 4), scores, *masks)
    (expected,) = torch.autograd.grad((chart * chart_gradient).sum() + (sums * sum_gradient).sum(), scores)
    weights = torch_backend.label_weights(scores, sums, chart_gradient, sum_gradient, *masks, True)
    close(weights.detach(), expected)
    constituents = torch_backend.label_weights(scores, sums, chart_gradient, sum_gradient, *masks, False)
    close(constituents.detach(), expected * masks[1])
