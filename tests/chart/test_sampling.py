import torch

from treecrf.chart import naive
from treecrf.chart.crf import SpanCRF

close = torch.testing.assert_close


def test_sample_frequencies_match_the_probabilities():
    generator = torch.Generator().manual_seed(4)
    lengths = torch.tensor([5, 3, 1])
    crf = SpanCRF(torch.randn(3, 6, 6, generator=generator), lengths)
    trees = crf.sample(20_000, generator=generator)
    close(trees.float().mean(0), crf.marginals, atol=0.015, rtol=0)
    for b, length in enumerate(lengths.tolist()):
        all_trees, totals = naive.tree_scores(crf.scores[b], length)
        frequency = torch.stack([(trees[:, b] == tree).all(-1).all(-1).float().mean() for tree in all_trees])
        close(frequency, totals.softmax(0), atol=0.015, rtol=0)


def test_equal_generators_give_equal_samples():
    crf = SpanCRF(torch.randn(2, 9, 9), [8, 6])
    first, second = (crf.sample(3, generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)
