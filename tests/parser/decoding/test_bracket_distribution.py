import numpy as np
import pytest
import torch

from parser.decoding.random_scores import LABELS, LOSSES, random_scores
from treecrf.chart import naive
from treecrf.chart.crf import SpanCRF
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.log_space import logsumexp

LENGTHS = [7, 1, 12, 3, 2, 20]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_distribution_over_bracketings_equals_that_of_the_torch_crf(loss):
    scores = random_scores(LENGTHS, labels=len(LABELS), loss=loss, seed=2)
    distribution = BracketDistribution.of(scores)
    spans = scores.spans if scores.labels is None else logsumexp(scores.labels).astype(np.float32)
    crf = SpanCRF(torch.from_numpy(spans), scores.lengths, validate=False)
    np.testing.assert_allclose(distribution.log_z, crf.log_partition.numpy(), rtol=1e-6)
    np.testing.assert_allclose(distribution.marginals, crf.marginals.numpy(), rtol=1e-4, atol=1e-6)
    assert distribution.entropies == pytest.approx(crf.entropy.tolist(), rel=1e-4, abs=1e-4)


def test_the_entropy_equals_that_of_the_enumeration():
    scores = random_scores([1, 4, 6], labels=2, seed=3)
    charts, lengths = torch.from_numpy(np.nan_to_num(scores.spans)).double(), torch.from_numpy(scores.lengths)
    assert BracketDistribution.of(scores).entropies == pytest.approx(naive.entropy(charts, lengths).tolist(), abs=1e-5)
