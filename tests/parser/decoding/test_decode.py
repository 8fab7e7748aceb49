"""Decoding of random scores, on the host and on a device."""

import numpy as np
import pytest
import torch

from parser.decoding.decoded import parts, utility
from parser.decoding.random_scores import LABELS, LOSSES, random_scores, select_sentence
from treecrf.chart import naive
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.trees.treebank.bracket_writer import FlatTrees

LENGTHS = [7, 1, 12, 3, 2, 20]
UTILITIES = [None, 0.2, 0.45, 0.9]


@pytest.mark.parametrize("threshold", UTILITIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mbr", [True, False])
def test_a_sentence_has_the_same_tree_alone_and_in_a_batch(mbr, loss, threshold):
    scores = random_scores(LENGTHS, labels=len(LABELS), loss=loss, tags=4)
    decoded = decode(scores, mbr=mbr, expected_f1=utility(threshold))
    sentences = [select_sentence(scores, number) for number in range(len(LENGTHS))]
    alone = [decode(sentence, mbr=mbr, expected_f1=utility(threshold)) for sentence in sentences]
    assert parts(FlatTrees.concatenate(alone)) == parts(decoded)


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
