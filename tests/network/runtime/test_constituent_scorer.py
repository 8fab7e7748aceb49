import numpy as np
import pytest
import torch

from treecrf.network.nn.constituent_scorer import ConstituentScorer as Network
from treecrf.network.runtime import int8, reference
from treecrf.network.runtime.constituent_scorer import ConstituentScorer
from treecrf.network.runtime.weights import NARROW_LEVELS, Weights


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_logits_equal_the_network_of_pytorch(precision: str, request: pytest.FixtureRequest) -> None:
    if precision == "int8":
        request.getfixturevalue("int8_support")
    torch.manual_seed(0)
    network = Network(width=32, size=64, roles=3, symbols=(4, 7), classes=5, schemes=2).eval()
    for parameter in (network.schemes, network.biases):
        parameter.data.normal_()
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(9, 32)).astype(np.float32)
    words, symbols = chance.integers(10, size=(40, 3)), chance.integers(7, size=(40, 4))
    tensors = map(torch.from_numpy, (vectors, words, symbols))
    expected = network(*tensors, torch.full((40,), 1)).detach().numpy()
    layers = reference if precision == "float32" else int8.layers(NARROW_LEVELS)
    scorer = ConstituentScorer(Weights({name: value.numpy() for name, value in network.state_dict().items()}), layers)
    difference = np.abs(scorer(vectors, words, symbols, 1) - expected).max() / np.abs(expected).max()
    assert difference < (1e-5 if precision == "float32" else 0.03)
