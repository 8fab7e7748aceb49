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
from treecrf import Constraints
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
