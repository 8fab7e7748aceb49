"""Probabilities of trees against the enumeration of all labeled binary trees."""

import math

import numpy as np
import pytest

from parser.decoding.random_scores import derivations, leaves_of, random_scores
from small import random_parser
from treecrf import Constraints, Tree
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.tree_probability import tree_log_probs
from treecrf.trees.treebank.binarize import LabelSet

REPEATED = [Tree.parse(text) for text in ("(TOP (NP (NP (N a) (N b))))", "(TOP (NP (N b)))", "(TOP (S (NP (N a))))")]


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
@pytest.mark.parametrize("constraints", [None, Constraints(require=[(0, 2, "NP")], forbid=[(1, 2)])])
def test_probabilities_of_all_trees_sum_to_one(loss: str, constraints: Constraints | None) -> None:
    parser = random_parser(REPEATED, loss=loss)
    words = ["a", "b"]
    (window,) = parser.reader.windows([words], None, None if constraints is None else [constraints], sizes=[1])
    leaves = [Tree("_", (word,)) for word in words]
    trees = derivations(parser.batch_scorer(window), parser.vocabulary.labels, leaves=leaves)
    log_probs = {tree: parser.log_prob(tree, constraints=constraints) for tree in trees}
    assert sum(map(math.exp, log_probs.values())) == pytest.approx(1, abs=1e-5)
    analysis = parser.analyze(words, k=25, constraints=constraints)
    best = sorted((log_prob for log_prob in log_probs.values() if log_prob > -math.inf), reverse=True)
    assert [other.log_prob for other in analysis.alternatives] == pytest.approx(best[:25], abs=1e-5)
    assert analysis.log_prob == pytest.approx(log_probs[analysis.tree], abs=1e-5)


def test_trees_that_a_parser_never_gives_have_no_probability() -> None:
    parser = random_parser(REPEATED)
    assert parser.log_prob(Tree.parse("(TOP (VP (N a)))")) == -math.inf
    assert parser.log_prob(Tree.parse("(TOP (NP (S (N a))))")) == -math.inf
    with pytest.raises(ValueError, match="the root of the tree is 'S'; expected 'TOP'"):
        parser.log_prob(Tree.parse("(S (NP (N a)))"))


def test_rounding_never_makes_a_tree_more_than_certain() -> None:
    labels, lengths = LabelSet(["(S)", "(NP)"]), list(range(2, 40))
    scores = random_scores(lengths, labels=2, scale=30.0)  # a sentence has one tree, with many derivations
    distribution = BracketDistribution.of(scores)
    trees = [Tree("TOP", tuple(leaves_of(length))) for length in lengths]
    log_probs = tree_log_probs(scores, distribution, trees, labels)
    assert log_probs == pytest.approx(np.zeros(len(trees)), abs=1e-4) and (log_probs <= 0).all()
