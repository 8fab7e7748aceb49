"""The int8 kernel of bidirectional LSTM layers against float32."""

import copy
import pickle

import pytest
import torch

from treecrf.data.batch import SequenceLengths
from treecrf.nn.lstm import BiLSTMLayer
from treecrf.runtime.int8 import Int8Lstm, why_unsupported

SIZES = [(1, 1), (3, 5), (17, 16), (50, 50), (64, 70), (200, 400)]  # inputs, units


@pytest.fixture(autouse=True)
def int8_support():
    if reason := why_unsupported():
        pytest.skip(reason)
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def random_layer(inputs, size):
    layer = BiLSTMLayer(inputs, size).eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(2)
    return layer


def int8_lstm(layer):
    return Int8Lstm(layer.weight_input, layer.weight_hidden, layer.bias_input + layer.bias_hidden)


def shuffled_lengths(rows, width):
    """The lengths 1, 2, ..., width, 1, ... in random order."""
    lengths = torch.arange(rows) % width + 1
    return lengths[torch.randperm(rows)]


def without_padding(states, lengths):
    return states[torch.arange(states.shape[1]) < lengths[:, None]]


def relative_error(values, expected):
    return float((values - expected).norm() / expected.norm())


@pytest.mark.parametrize(("inputs", "size"), SIZES)
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (1, 9), (6, 1), (7, 7), (40, 21)])
@torch.no_grad()
def test_states_are_close_to_those_of_floats_and_zero_in_padding(inputs, size, rows, width):
    layer, lengths, x = random_layer(inputs, size), shuffled_lengths(rows, width), torch.randn(rows, width, inputs)
    states, expected = int8_lstm(layer)(x, lengths), layer(x, SequenceLengths(lengths, lengths, width))
    assert states.shape == expected.shape == (rows, width, 2, size)
    assert relative_error(without_padding(states, lengths), without_padding(expected, lengths)) < 0.03
    states[torch.arange(width) < lengths[:, None]] = 0
    assert not states.any()


@pytest.mark.parametrize(("inputs", "size"), SIZES[1:])
@torch.no_grad()
def test_the_composition_of_a_batch_changes_no_bit(inputs, size):
    lstm, lengths, x = int8_lstm(random_layer(inputs, size)), shuffled_lengths(31, 13), torch.randn(31, 13, inputs)
    states = lstm(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = lstm(x[row : row + 1, :length], lengths[row : row + 1])
        assert torch.equal(alone[0], states[row, :length])


@torch.no_grad()
def test_padding_is_never_read():
    lstm, lengths, x = int8_lstm(random_layer(9, 20)), shuffled_lengths(14, 6), torch.randn(14, 6, 9)
    expected = lstm(x, lengths)
    x[torch.arange(6) >= lengths[:, None]] = float("nan")
    assert torch.equal(lstm(x, lengths), expected)


@torch.no_grad()
def test_empty_sequences_and_empty_batches_have_no_states():
    lstm, x = int8_lstm(random_layer(9, 20)), torch.randn(3, 4, 9)
    states = lstm(x, torch.tensor([0, 4, 0]))
    assert torch.equal(states[1:2], lstm(x[1:2], torch.tensor([4]))) and not states[[0, 2]].any()
    assert lstm(x[:0], torch.tensor([], dtype=torch.int64)).shape == (0, 4, 2, 20)


@torch.no_grad()
def test_the_number_of_threads_changes_no_bit():
    lstm, lengths, x = int8_lstm(random_layer(30, 40)), shuffled_lengths(50, 12), torch.randn(50, 12, 30)
    states = []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        states.append(lstm(x, lengths))
    assert torch.equal(states[0], states[1]) and torch.equal(states[0], states[2])


@torch.no_grad()
def test_rows_may_have_any_strides():
    lstm, lengths, wide = int8_lstm(random_layer(10, 20)), shuffled_lengths(8, 5), torch.randn(8, 5, 40)
    for x in (wide[..., 10:20], wide.mT[:, :10].mT, torch.randn(1, 5, 10).expand(8, 5, 10)):
        assert torch.equal(lstm(x, lengths), lstm(x.clone(), lengths))


@torch.no_grad()
def test_saturated_gates_give_finite_states():
    layer, lengths = random_layer(4, 16), shuffled_lengths(5, 30)
    for parameter in layer.parameters():
        parameter.mul_(1e3)
    x = 1e3 * torch.randn(5, 30, 4)
    states, expected = int8_lstm(layer)(x, lengths), layer(x, SequenceLengths(lengths, lengths, 30))
    assert states.isfinite().all() and float(states.abs().max()) <= 1
    # the first step reads no rounded state
    assert float((states[:, 0, 0] - expected[:, 0, 0]).abs().max()) < 0.01


def test_lengths_out_of_range_are_errors():
    lstm = int8_lstm(random_layer(4, 5))
    for length in (-1, 4):
        with pytest.raises(ValueError, match=f"length 1 is {length}; expected 0 to 3"):
            lstm(torch.randn(2, 3, 4), torch.tensor([3, length]))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
@torch.no_grad()
def test_a_copy_has_its_own_weights(copied):
    lstm, lengths, x = int8_lstm(random_layer(4, 5)), shuffled_lengths(5, 3), torch.randn(5, 3, 4)
    expected, other = lstm(x, lengths), copied(lstm)
    for parameter in lstm._parameters:
        parameter.zero_()
    assert torch.equal(other(x, lengths), expected)
