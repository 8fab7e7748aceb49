import itertools
import math

import numpy as np
import pytest

from small import FIFTY, random_parser
from treecrf import Tree, from_spans, read_trees
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.training.calibration.predictions import collect_predictions, score_batches, tree_log_probs
from treecrf.trees.tree import Span
from treecrf.trees.treebank.binarize import LabelSet

TREES = list(read_trees(FIFTY))
SMALL = [Tree.parse("(TOP (S (NP (DT a) (NN b)) (VP (VB c))))"), Tree.parse("(TOP (NP (DT a) (JJ b) (NN c)))")]


def all_binary_trees(length):
    """The spans of every binary tree over `length` words."""

    def trees(start, end):
        if end - start == 1:
            return [[(start, end)]]
        splits = ((trees(start, middle), trees(middle, end)) for middle in range(start + 1, end))
        return [[*left, *right, (start, end)] for lefts, rights in splits for left in lefts for right in rights]

    return trees(0, length)


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
def test_tree_probability_is_the_sum_over_its_labeled_binary_trees(loss):
    parser = random_parser(SMALL, loss=loss)
    strings = parser.vocabulary.labels
    ((scores, gold),) = score_batches(parser, [SMALL[0]])
    distribution = BracketDistribution.of(scores)
    sums: dict[Tree, float] = {}
    for brackets in all_binary_trees(3):
        bracket_log_prob = sum(distribution.scores[0, start, end] for start, end in brackets) - distribution.log_z[0]
        by_label = {cell: dict(zip(strings, _label_log_probs(scores, cell), strict=True)) for cell in brackets}
        for labels in itertools.product(strings, repeat=len(brackets)):
            spans = [Span(*cell, label) for cell, label in zip(brackets, labels, strict=True)]
            tree = from_spans(spans, gold[0].leaves(), "TOP")
            log_prob = bracket_log_prob + sum(by_label[span[:2]][span.label] for span in spans)
            sums[tree] = sums.get(tree, 0.0) + math.exp(log_prob)
    assert sum(sums.values()) == pytest.approx(1, abs=1e-4)
    for tree in sorted(sums, key=sums.__getitem__, reverse=True)[:20]:
        probability = math.exp(tree_log_probs(scores, distribution, [tree], LabelSet(strings)).item())
        assert probability == pytest.approx(sums[tree], rel=1e-3, abs=1e-6)


def _label_log_probs(scores, cell):
    label_scores = scores.labels_at(np.array([cell[0] * scores.spans.shape[1] + cell[1]]))[0].astype(float)
    return (label_scores - np.logaddexp.reduce(label_scores)).tolist()


def test_predictions_agree_with_the_parsers_analyses():
    parser = random_parser(TREES)
    predictions = collect_predictions(parser, TREES[:7])
    probabilities = sorted(
        constituent.probability
        for tree in TREES[:7]
        for constituent in parser.analyze(tree.words, tags=tree.tags).constituents
        if (constituent.start, constituent.end, constituent.label) != (0, len(tree.words), "TOP")
    )
    assert sorted(predictions.labeled.probabilities) == pytest.approx(probabilities, abs=1e-4)
    assert len(predictions.trees.is_correct) == len(predictions.counts) == 7
    assert sum(predictions.labeled.is_correct) == sum(matched for _, _, matched in predictions.counts)


def test_unlabeled_accuracy_is_at_least_the_labeled_accuracy():
    predictions = collect_predictions(random_parser(TREES), TREES)
    unlabeled, labeled = predictions.unlabeled.is_correct, predictions.labeled.is_correct
    assert sum(unlabeled) / len(unlabeled) >= sum(labeled) / len(labeled)
    assert 0 <= min(predictions.trees.probabilities) <= max(predictions.trees.probabilities) <= 1
