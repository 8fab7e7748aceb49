"""The distribution over trees against the enumeration of all trees, and against the distribution in PyTorch."""

import math
from collections import defaultdict

import numpy as np
import pytest

from parser.decoding.analyses import constrain
from parser.decoding.random_scores import (
    LABELS,
    LOSSES,
    REPEATED,
    derivations,
    leaves_of,
    log_sum,
    random_scores,
    tree_probabilities,
)
from small import random_parser
from treecrf import Constraints, Tree
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.trees.treebank.binarize import LabelSet

TREES = [Tree.parse(text) for text in ("(TOP (NP (NP (N a) (N b))))", "(TOP (NP (N b)))", "(TOP (S (NP (N a))))")]


def distribution_of(scores: Scores, labels: tuple[str, ...] = LABELS) -> TreeDistribution:
    return TreeDistribution(scores=scores, labels=LabelSet(labels), root="TOP")


@pytest.mark.parametrize("labels", [LABELS, REPEATED], ids=["labels", "repeated names"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_sums_and_probabilities_equal_enumeration(loss: str, labels: tuple[str, ...], length: int) -> None:
    scores = random_scores([length], labels=len(labels), loss=loss)
    all_derivations, distribution = derivations(scores, labels), distribution_of(scores, labels)
    log_probs = tree_probabilities(all_derivations)
    if loss != "two-stage":
        assert distribution.log_z == pytest.approx([log_sum(all_derivations)], abs=1e-4)
    for tree, log_prob in log_probs.items():
        assert distribution.log_prob(0, tree) == pytest.approx(log_prob, abs=1e-5)
    is_phrase = np.zeros((length + 1, length + 1))
    for tree, log_prob in log_probs.items():
        below_root = [] if tree.is_leaf else tree.spans()[1:]
        for position in {(0, 1)} if tree.is_leaf else {span[:2] for span in below_root}:
            is_phrase[position] += math.exp(log_prob)
    assert distribution.marginals[0] == pytest.approx(is_phrase, abs=1e-5)
    rootless = sum(math.exp(log_prob) for tree, log_prob in log_probs.items() if tree.is_leaf)
    assert distribution.root_probability(0) == pytest.approx(1 - rootless, abs=1e-5)


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
def test_a_tree_may_have_all_of_its_derivations(loss: str) -> None:
    scores = random_scores([4], labels=3, loss=loss)
    labels = ("S", "NP", "(S)")
    distribution = TreeDistribution(scores=scores, labels=LabelSet(labels), root="TOP", all_derivations=True)
    log_probs = tree_probabilities(derivations(scores, labels, is_canonical=False))
    is_phrase = np.zeros((5, 5))
    for tree, log_prob in log_probs.items():
        assert distribution.log_prob(0, tree) == pytest.approx(log_prob, abs=1e-5)
        for start, end in {span[:2] for span in tree.spans()[1:]}:
            is_phrase[start, end] += math.exp(log_prob)
    assert distribution.marginals[0] == pytest.approx(is_phrase, abs=1e-5)


@pytest.mark.parametrize("labels", [("S NP", "(NP)"), ("NP NP", "NP", "(S)"), ("S S", "")])
@pytest.mark.parametrize("constraint", [None, Constraints(require=[(1, 3)]), Constraints(forbid=[(0, 2), (3, 4)])])
def test_all_trees_of_four_words_sum_to_one(labels: tuple[str, ...], constraint: Constraints | None) -> None:
    scores = random_scores([4], labels=len(labels), scale=2.0)
    distribution = distribution_of(constrain(scores, constraint, labels=LabelSet(labels)), labels)
    by_tree = {tree: distribution.log_prob(0, tree) for tree in derivations(scores, labels)}
    assert sum(map(math.exp, by_tree.values())) == pytest.approx(1, abs=1e-6)
    probabilities: dict[tuple[int, int, str], float] = defaultdict(float)
    for tree, log_prob in by_tree.items():
        for start, end, label in set(tree.spans()[1:]):
            probabilities[start, end, label] += math.exp(log_prob)
    for (start, end, label), probability in probabilities.items():
        cells = distribution.cells(0, np.array([start]), np.array([end]))
        row = distribution.constituent_probabilities(cells)[0]
        assert row[LabelSet(labels)._columns[label, 1]] == pytest.approx(probability, abs=1e-6)


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
@pytest.mark.parametrize("constraints", [None, Constraints(require=[(0, 2, "NP")], forbid=[(1, 2)])])
def test_probabilities_of_all_trees_sum_to_one(loss: str, constraints: Constraints | None) -> None:
    parser = random_parser(TREES, loss=loss)
    words = ["a", "b"]
    (window,) = parser.reader.windows([words], None, None if constraints is None else [constraints], sizes=[1])
    leaves = [Tree("_", (word,)) for word in words]
    trees = derivations(parser.batch_scorer(window), parser.vocabulary.labels, leaves=leaves)
    log_probs = {tree: parser.log_prob(tree, constraints=constraints) for tree in trees}
    assert sum(map(math.exp, log_probs.values())) == pytest.approx(1, abs=1e-5)
    analysis = parser.analyze(words, k=25, constraints=constraints)
    assert sum(other.probability for other in analysis.alternatives) == pytest.approx(1, abs=1e-5)
    assert analysis.log_prob == pytest.approx(log_probs[analysis.tree], abs=1e-5)


def test_trees_that_a_parser_never_gives_have_no_probability() -> None:
    parser = random_parser(TREES)
    assert parser.log_prob(Tree.parse("(TOP (VP (N a)))")) == -math.inf
    assert parser.log_prob(Tree.parse("(TOP (NP (S (N a))))")) == -math.inf
    with pytest.raises(ValueError, match="the root of the tree is 'S'; expected 'TOP'"):
        parser.log_prob(Tree.parse("(S (NP (N a)))"))


def test_rounding_never_makes_a_tree_more_than_certain() -> None:
    labels, lengths = LabelSet(["(S)", "(NP)"]), list(range(2, 40))
    scores = random_scores(lengths, labels=2, scale=30.0)  # a sentence has one tree, with many derivations
    trees = [Tree("TOP", tuple(leaves_of(length))) for length in lengths]
    log_probs = TreeDistribution(scores=scores, labels=labels, root="TOP").log_probs(trees)
    assert log_probs == pytest.approx(np.zeros(len(trees)), abs=1e-4) and (log_probs <= 0).all()
