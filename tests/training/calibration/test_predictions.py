import itertools
import math

import numpy as np
import pytest

from small import FIFTY, random_parser
from treecrf import Tree, from_spans, read_trees
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.training.calibration.predictions import collect_predictions, match_constituents, score_batches
from treecrf.trees.tree import Span
from treecrf.trees.treebank.binarize import LabelSet, unary_chain
from treecrf.trees.treebank.bracket_writer import FlatTrees

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
def test_tree_probability_is_the_share_of_its_left_binarized_derivations(loss):
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
            if any(span[:2] == (1, 3) and not unary_chain(span.label) for span in spans):
                continue  # a right child of two or more words is a constituent
            tree = from_spans(spans, gold[0].preterminals(), "TOP")
            log_prob = bracket_log_prob + sum(by_label[span[:2]][span.label] for span in spans)
            sums[tree] = sums.get(tree, 0.0) + math.exp(log_prob)
    total = sum(sums.values())
    assert 0 < total < 1.001
    for tree in sorted(sums, key=sums.__getitem__, reverse=True)[:20]:
        probability = math.exp(parser.tree_distribution(scores).log_prob(0, tree))
        assert probability == pytest.approx(sums[tree] / total, rel=1e-3, abs=1e-6)


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
    labeled = predictions.forecasts("labeled")
    assert sorted(labeled.confidences) == pytest.approx(probabilities, abs=1e-4)
    assert len(predictions.trees) == 7
    assert labeled.correct.sum() == sum(tree.matched for tree in predictions.trees)


def test_unlabeled_accuracy_is_at_least_the_labeled_accuracy():
    predictions = collect_predictions(random_parser(TREES), TREES)
    unlabeled, labeled, trees = (predictions.forecasts(kind) for kind in ("unlabeled", "labeled", "trees"))
    assert unlabeled.correct.mean() >= labeled.correct.mean()
    assert 0 <= trees.confidences.min() <= trees.confidences.max() <= 1


def test_the_confidence_in_a_sentence_is_the_mean_probability_of_its_constituents():
    parser = random_parser(TREES)
    for tree in TREES[:5]:
        predictions = collect_predictions(parser, [tree])
        sentences, labeled = predictions.forecasts("sentences"), predictions.forecasts("labeled")
        assert sentences.confidences == pytest.approx([np.mean(labeled.confidences) if len(labeled.correct) else 1.0])
        assert (sentences.correct, sentences.predictions) == (labeled.correct.sum(), len(labeled.correct))


def test_added_predictions_are_those_of_all_trees():
    parser = random_parser(TREES)
    together = collect_predictions(parser, TREES[:20]) + collect_predictions(parser, TREES[20:])
    whole = collect_predictions(parser, TREES)
    for kind in ("labeled", "unlabeled", "trees", "sentences"):
        ours, theirs = (predictions.forecasts(kind) for predictions in (together, whole))
        assert sorted(ours.confidences) == pytest.approx(sorted(theirs.confidences), abs=1e-5) and len(ours.correct)
        assert (ours.correct.sum(), ours.predictions.sum()) == (theirs.correct.sum(), theirs.predictions.sum())
    assert sorted(label for label, _, _ in together.constituents) == sorted(label for label, _, _ in whole.constituents)
    assert sorted(tree.words for tree in together.trees) == sorted(tree.words for tree in whole.trees)


def test_the_root_of_a_gold_tree_matches_no_constituent():
    parser = random_parser([Tree.parse("(S (S (NP (DT a) (NN b)) (VP (VB c))))")])
    ((scores, _),) = score_batches(parser, [Tree.parse("(S (NP (DT a) (NN b)) (VP (VB c)))")])
    labels = LabelSet(["S", "NP", "", "(S)"])
    starts, ends = np.array([0, 0, 1, 0, 2]), np.array([3, 2, 2, 1, 3])
    decoded = FlatTrees(starts=starts, ends=ends, labels=np.arange(5) % 4, tags=None)
    for gold, matches in (
        ("(S (NP (DT a) (NN b)) (VP (VB c)))", [False, True, False]),
        ("(S (S (NP (DT a) (NN b)) (VP (VB c))))", [True, True, False]),
        ("(S (S (NP (NP (DT a) (NN b))) (S (VB c))))", [True, True, True]),
    ):
        constituents = match_constituents(scores, decoded, labels, [Tree.parse(gold)])
        assert constituents.labels == ["S", "NP", "S"] and constituents.rows == [0, 1, 4]
        assert constituents.is_correct == matches
