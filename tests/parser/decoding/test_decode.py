"""Decoding of random scores, on the host and on a device."""

import numpy as np
import pytest
import torch

from parser.decoding.random_scores import LABELS, LOSSES, random_scores, select_sentence
from treecrf.chart import naive
from treecrf.chart.crf import SpanCRF
from treecrf.network import nn
from treecrf.network.data.scores import Scores
from treecrf.parser.decoding import ExpectedF1, decode
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.device_decode import decode_on_device, nonzero_static
from treecrf.parser.decoding.log_space import logsumexp
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.bracket_writer import FlatTrees

LENGTHS = [7, 1, 12, 3, 2, 20]
UTILITIES = [None, 0.2, 0.45, 0.9]


def utility(threshold: float | None) -> ExpectedF1 | None:
    return threshold and ExpectedF1.for_labels(LabelSet(LABELS), threshold)


def parts(decoded: FlatTrees) -> list[list[int] | None]:
    arrays = (decoded.starts, decoded.ends, decoded.labels, decoded.tags)
    return [None if array is None else array.tolist() for array in arrays]


def to_torch(scores: Scores) -> nn.TensorScores:
    """The same scores as tensors."""

    class TableScorer:
        def at(self, left, right, spans):
            return torch.from_numpy(scores.labels_at(spans.cells.numpy()))

    spans, labels, tags = (
        None if array is None else torch.from_numpy(array) for array in (scores.spans, scores.labels, scores.tags)
    )
    boundaries = torch.zeros(*scores.spans.shape[:2], 1)
    return nn.TensorScores(
        total_words=int(scores.lengths.sum()),
        is_crf=scores.is_crf,
        lengths=torch.from_numpy(scores.lengths),
        spans=spans,
        left=boundaries,
        right=boundaries,
        label_scorer=TableScorer(),
        labels=labels,
        tags=tags,
    )


@pytest.mark.parametrize("threshold", UTILITIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mbr", [True, False])
def test_a_sentence_has_the_same_tree_alone_and_in_a_batch(mbr, loss, threshold):
    scores = random_scores(LENGTHS, labels=len(LABELS), loss=loss, tags=4)
    decoded = decode(scores, mbr=mbr, expected_f1=utility(threshold))
    sentences = [select_sentence(scores, number) for number in range(len(LENGTHS))]
    alone = [decode(sentence, mbr=mbr, expected_f1=utility(threshold)) for sentence in sentences]
    assert parts(FlatTrees.concatenate(alone)) == parts(decoded)


@pytest.mark.parametrize("threshold", UTILITIES)
@pytest.mark.parametrize("tags", [0, 5])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mbr", [True, False])
def test_decoding_on_a_device_gives_the_same_trees(mbr, loss, tags, threshold):
    scores = random_scores(LENGTHS, labels=len(LABELS), loss=loss, tags=tags, seed=1)
    expected = decode(scores, mbr=mbr, expected_f1=utility(threshold))
    pending = decode_on_device(to_torch(scores), mbr=mbr, expected_f1=utility(threshold))
    assert parts(pending()) == parts(expected)


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


def test_mbr_and_the_best_tree_are_the_best_of_all_trees():
    scores = random_scores([6], labels=len(LABELS), seed=4)
    marginals = BracketDistribution.of(scores).marginals[0]
    for mbr, chart in ((True, marginals), (False, scores.spans[0])):
        all_trees, _ = naive.tree_scores(torch.from_numpy(np.nan_to_num(chart)).double(), 6)
        decoded = decode(scores, mbr=mbr)
        expected = all_trees[0].nonzero().tolist()
        assert [list(span) for span in zip(decoded.starts, decoded.ends, strict=True)] == expected
        cells = decoded.starts * 7 + decoded.ends
        assert decoded.labels.tolist() == scores.labels_at(cells).argmax(-1).tolist()


def test_indices_of_true_values_are_padded_with_zero():
    mask = torch.tensor([False, True, False, True, True])
    assert nonzero_static(mask, 5).tolist() == [1, 3, 4, 0, 0]
    assert nonzero_static(mask, 2).tolist() == [1, 3]
