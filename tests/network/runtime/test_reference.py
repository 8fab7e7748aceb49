"""The NumPy layers against PyTorch's."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from network.runtime.layers import (
    ENCODERS,
    ragged_pieces,
    random_array,
    random_bert_weights,
    random_lstm_weights,
    shuffled_lengths,
    without_padding,
)
from treecrf.network.nn.batch import SequenceLengths, Spans
from treecrf.network.nn.bert import Bert
from treecrf.network.nn.lstm import BiLSTMLayer
from treecrf.network.nn.scorers import Biaffine
from treecrf.network.runtime import reference
from treecrf.network.runtime.weights import Matrix


def assert_close(values, expected):
    np.testing.assert_allclose(values, expected.detach().numpy(), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("slope", [1.0, 0.1])
def test_linear_layers(slope):
    x, weight, bias = random_array(3, 5, 7), random_array(11, 7, seed=1), random_array(11, seed=2)
    expected = F.leaky_relu(F.linear(*map(torch.from_numpy, (x, weight, bias))), slope)
    assert_close(reference.Linear(Matrix(weight), bias, slope=slope)(x), expected)


@pytest.mark.parametrize(("rows", "width", "size"), [(1, 1, 1), (7, 7, 5), (12, 9, 16)])
def test_lstm_layers(rows, width, size):
    inputs, hidden, bias = random_lstm_weights(6, size)
    layer = BiLSTMLayer(6, size).eval()
    parameters = {
        "weight_input": inputs.rows,
        "weight_hidden": hidden.rows,
        "bias_input": bias,
        "bias_hidden": 0 * bias,
    }
    layer.load_state_dict({name: torch.from_numpy(array) for name, array in parameters.items()})
    x, lengths = random_array(rows, width, 6), shuffled_lengths(rows, width)
    states = reference.Lstm(inputs, hidden, bias)(x, lengths)
    expected = layer(torch.from_numpy(x), SequenceLengths(torch.from_numpy(lengths), lengths, width)).detach().numpy()
    np.testing.assert_allclose(
        without_padding(states, lengths), without_padding(expected, lengths), atol=2e-5, rtol=1e-4
    )
    states[np.arange(width) < lengths[:, None]] = 0
    assert not states.any()


@pytest.mark.parametrize("has_inputs", [False, True])
@pytest.mark.parametrize(("config", "width"), ENCODERS.values(), ids=ENCODERS)
def test_the_encoder(config, width, has_inputs):
    weights, (pieces, lengths) = random_bert_weights(config), ragged_pieces(width=width)
    bert = Bert(config).eval()
    bert.load_state_dict({name: torch.from_numpy(weights[name]) for name in bert.state_dict()})
    piece_inputs = random_array(*pieces.shape, config.hidden_size) if has_inputs else None
    layer_weights = np.array([0.5, -2.0, 3.0], np.float32)
    hidden = reference.Bert(config, weights)(pieces, lengths, layer_weights, piece_inputs)
    tensors = (pieces, lengths) if piece_inputs is None else (pieces, lengths, piece_inputs)
    states = bert(*map(torch.from_numpy, tensors))
    expected = sum(weight * state for weight, state in zip(layer_weights.tolist(), states[-3:], strict=True))
    np.testing.assert_allclose(
        without_padding(hidden, lengths), without_padding(expected.detach().numpy(), lengths), atol=5e-5, rtol=1e-4
    )


@pytest.mark.parametrize("classes", [1, 5])
def test_charts_and_selected_spans(classes):
    scorer = Biaffine(4, 6, classes).eval()
    blocks = [random_array(classes, *shape, seed=3 + n) for n, shape in enumerate([(6, 6), (6,), (6,), ()])]
    for parameter, block in zip(
        (scorer.weight, scorer.weight_left, scorer.weight_right, scorer.bias), blocks, strict=True
    ):
        parameter.data.copy_(torch.from_numpy(block))
    left, right = random_array(3, 8, 6), random_array(3, 8, 6, seed=1)
    tensors = torch.from_numpy(left), torch.from_numpy(right)
    cells = np.random.default_rng(0).permutation(3 * 8 * 8)[:100]
    spans = Spans.at(torch.from_numpy(cells), 8)
    values = reference.LabelScorer(*blocks)(left, right, spans.lefts.numpy(), spans.rights.numpy())
    assert_close(values, scorer.at(*tensors, spans))
    if classes == 1:
        assert_close(reference.SpanScorer(*(block[0] for block in blocks))(left, right), scorer(*tensors)[..., 0])


def test_gelu_is_exact_in_float32():
    x = np.linspace(-9, 9, 20_001, dtype=np.float32)
    np.testing.assert_allclose(reference._gelu(x), F.gelu(torch.from_numpy(x).double()).numpy(), atol=1e-6)


def test_positions_are_the_means_of_their_pieces_or_zero():
    hidden = random_array(3, 7, 5)
    rows, positions, counts = np.array([20, 0, 5, 6]), np.array([4, 1, 1, 0]), np.array([1, 2, 2, 1])
    flat = hidden.reshape(-1, 5)
    expected = np.zeros((6, 5), np.float32)
    expected[4], expected[1], expected[0] = flat[20], (flat[0] + flat[5]) / 2, flat[6]
    np.testing.assert_allclose(reference.mean_of_pieces(hidden, rows, positions, counts, 6), expected, atol=1e-6)
