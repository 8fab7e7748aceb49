from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parser.decoding.random_scores import random_scores
from small import random_parser
from toygrammar import toy_trees
from treecrf.files import DamagedFileError
from treecrf.parser import Parser
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.network import build_network, network_state, to_span_crf


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
