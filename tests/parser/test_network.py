from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parser.decoding.analyses import constrain, satisfies
from parser.decoding.random_scores import (
    LABELS,
    LOSSES,
    derivations,
    leaves_of,
    random_scores,
    select_sentence,
    tree_probabilities,
)
from small import random_parser
from toygrammar import toy_trees
from treecrf import Constraints, Tree
from treecrf.chart.tree_crf import TreeCRF
from treecrf.files import DamagedFileError
from treecrf.network.data.batch import Scores
from treecrf.parser import Parser
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.parser.network import (
    build_network,
    charts_to_trees,
    network_state,
    to_span_crf,
    to_tree_crf,
    trees_to_charts,
)
from treecrf.trees.treebank.binarize import LabelSet


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(toy_trees(20))


def test_a_network_becomes_a_state_and_a_network_again(parser: Parser) -> None:
    state = network_state(parser)
    assert state.config == parser.config and state.vocabulary is parser.vocabulary and state.encoder_json is None
    network = build_network(state)
    assert not network.training
    weights = parser.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in network.state_dict().items())


def test_weights_of_another_shape_name_the_folder(parser: Parser) -> None:
    state = network_state(parser)
    weights = dict(state.weights) | {"span_scorer.weight": np.zeros(3, np.float32)}
    for folder, name in ((None, "the parser"), (Path("some/folder"), "some/folder")):
        with pytest.raises(DamagedFileError, match=f"{name} does not contain the weights of this model"):
            build_network(replace(state, weights=weights, folder=folder))


def test_a_distribution_of_arrays_and_of_tensors_are_the_same() -> None:
    distribution = BracketDistribution.of(random_scores([3, 5], labels=2))
    crf = to_span_crf(distribution, "cpu")
    assert crf.log_partition.numpy() == pytest.approx(distribution.log_z, abs=1e-5)


def tensors_of(scores: Scores, labels: tuple[str, ...]) -> TreeCRF:
    return to_tree_crf(TreeDistribution(scores=scores, labels=LabelSet(labels), root="TOP"), "cpu")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("constraint", [None, Constraints(require=[(0, 1, "NP")], forbid=[(1, 2)])])
def test_the_distribution_in_tensors_equals_enumeration(loss: str, length: int, constraint: Constraints | None) -> None:
    scores = random_scores([length], labels=len(LABELS), loss=loss)
    left = derivations(scores, LABELS)
    if constraint is not None and length > 1:
        scores = constrain(scores, constraint)
        left = {tree: totals for tree, totals in left.items() if satisfies(tree, constraint)}
    log_probs = tree_probabilities(left)
    crf = tensors_of(scores, LABELS)
    charts = torch.cat([trees_to_charts([tree], LABELS, "cpu") for tree in log_probs])
    assert crf.log_prob(charts[:, None])[:, 0].numpy() == pytest.approx(np.array([*log_probs.values()]), abs=1e-5)
    exact = -sum(np.exp(log_prob) * log_prob for log_prob in log_probs.values())
    assert crf.entropy.item() == pytest.approx(exact, abs=1e-4)
    (best,) = charts_to_trees(crf.argmax, [leaves_of(length)], LABELS, "TOP")
    assert best == next(iter(log_probs))


def test_a_sentence_of_one_word_in_a_batch_has_the_same_probabilities_as_alone() -> None:
    together = random_scores([3, 1], labels=len(LABELS))
    crf = tensors_of(together, LABELS)
    for number, length in enumerate([3, 1]):
        alone = tensors_of(select_sentence(together, number), LABELS)
        assert crf.log_partition[number].item() == pytest.approx(alone.log_partition.item(), abs=1e-6)
        for tree in derivations(select_sentence(together, number), LABELS):
            chart = trees_to_charts([tree], LABELS, "cpu")
            padded = torch.full((2, 4, 4), -1)
            padded[number, : length + 1, : length + 1] = chart[0]
            assert crf.log_prob(padded)[number].item() == pytest.approx(alone.log_prob(chart).item(), abs=1e-6)
    with pytest.raises(ValueError, match="give sentences of one word in a batch of their own"):
        tensors_of(random_scores([3, 1], labels=2), ("NP", ""))


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf", "one-stage-margin"])
def test_a_parser_gives_the_distribution_of_its_log_probs(loss: str) -> None:
    parser = random_parser(toy_trees(20), loss=loss)
    trees = [tree for tree in toy_trees(6, seed=2)]
    crf = parser.distribution_many([tree.words for tree in trees])
    log_probs = crf.log_prob(parser.charts(trees)).tolist()
    assert log_probs == pytest.approx([parser.log_prob(tree) for tree in trees], abs=1e-4)
    best = parser.trees(crf.argmax, [tree.words for tree in trees])
    assert [parser.log_prob(tree) for tree in best] == pytest.approx(crf.log_prob(crf.argmax).tolist(), abs=1e-4)
    constraint = Constraints(require=[(0, 2)])
    given = parser.distribution(trees[0].words, constraints=constraint)
    assert parser.trees(given.sample(), [trees[0].words])[0].spans()[0].start == 0
    assert given.log_prob(given.argmax).item() == pytest.approx(
        parser.log_prob(*parser.trees(given.argmax, [trees[0].words]), constraints=constraint), abs=1e-4
    )
    with pytest.raises(ValueError, match="which is no label of the model"):
        parser.charts([Tree.parse("(TOP (QQ (X a) (X b)))")])


def test_a_model_of_all_derivations_has_no_tensors() -> None:
    parser = random_parser(toy_trees(20), loss="tree")
    with pytest.raises(ValueError, match="sums over all derivations of a tree"):
        parser.distribution(["a", "b"])


def test_en_gives_the_distribution_of_its_log_probs() -> None:
    parser = Parser.load("en", "cpu")
    for text in ("Yes.", "The old man saw the girl with the telescope."):
        tree = parser.parse(text)
        crf = parser.distribution(tree.words)
        assert crf.log_prob(parser.charts([tree])).item() == pytest.approx(parser.log_prob(tree), abs=1e-4)
