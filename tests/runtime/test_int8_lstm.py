"""LSTMs on 8-bit integers beside the same in float32."""

import copy
import pickle
from dataclasses import replace

import pytest
import torch

from nn.batches import SMALL, TREES, VOCABULARY, batch_of, small_model
from treecrf.data.batch import SequenceLengths
from treecrf.nn import SpanModel
from treecrf.nn.lstm import BiLSTMLayer
from treecrf.runtime import int8
from treecrf.runtime.int8 import Int8Lstm, why_unsupported
from treecrf.runtime.quantized_model import quantize

CPU = torch.device("cpu")
SIZES = [(1, 1), (3, 5), (17, 16), (50, 50), (64, 70), (200, 400)]  # inputs, units


@pytest.fixture(autouse=True)
def integers():
    if why := why_unsupported():
        pytest.skip(why)
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


def twin_of(layer):
    return Int8Lstm(layer.weight_input, layer.weight_hidden, layer.bias_input + layer.bias_hidden)


def ragged(rows, width):
    """All lengths from one on, in no order."""
    lengths = torch.arange(rows) % width + 1
    lengths = lengths[torch.randperm(rows)]
    return SequenceLengths(lengths, lengths, width)


def real(states, lengths):
    return states[torch.arange(states.shape[1]) < lengths[:, None]]


def distance(found, expected):
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize(("inputs", "size"), SIZES)
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (1, 9), (6, 1), (7, 7), (40, 21)])
@torch.no_grad()
def test_states_are_nearly_those_of_floats_and_padding_is_zero(inputs, size, rows, width):
    layer, sequences, x = random_layer(inputs, size), ragged(rows, width), torch.randn(rows, width, inputs)
    found, expected = twin_of(layer)(x, sequences.on_device), layer(x, sequences)
    assert found.shape == expected.shape == (rows, width, 2, size)
    assert distance(real(found, sequences.on_device), real(expected, sequences.on_device)) < 0.03
    found[torch.arange(width) < sequences.on_device[:, None]] = 0
    assert not found.any()


@pytest.mark.parametrize(("inputs", "size"), SIZES[1:])
@torch.no_grad()
def test_a_sequence_alone_and_in_company_has_the_same_states(inputs, size):
    twin, lengths, x = twin_of(random_layer(inputs, size)), ragged(31, 13).on_device, torch.randn(31, 13, inputs)
    together = twin(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = twin(x[row : row + 1, :length], lengths[row : row + 1])
        assert torch.equal(alone[0], together[row, :length])


@torch.no_grad()
def test_what_stands_in_padding_is_never_read():
    twin, lengths, x = twin_of(random_layer(9, 20)), ragged(14, 6).on_device, torch.randn(14, 6, 9)
    expected = twin(x, lengths)
    x[torch.arange(6) >= lengths[:, None]] = float("nan")
    assert torch.equal(twin(x, lengths), expected)


@torch.no_grad()
def test_empty_sequences_and_batches_have_no_states():
    twin, x = twin_of(random_layer(9, 20)), torch.randn(3, 4, 9)
    found = twin(x, torch.tensor([0, 4, 0]))
    assert torch.equal(found[1:2], twin(x[1:2], torch.tensor([4]))) and not found[[0, 2]].any()
    assert twin(x[:0], torch.tensor([], dtype=torch.int64)).shape == (0, 4, 2, 20)


@torch.no_grad()
def test_threads_change_nothing():
    twin, lengths, x = twin_of(random_layer(30, 40)), ragged(50, 12).on_device, torch.randn(50, 12, 30)
    found = []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        found.append(twin(x, lengths))
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


@torch.no_grad()
def test_rows_that_lie_apart_are_read_alike():
    twin, lengths, wide = twin_of(random_layer(10, 20)), ragged(8, 5).on_device, torch.randn(8, 5, 40)
    for x in (wide[..., 10:20], wide.mT[:, :10].mT, torch.randn(1, 5, 10).expand(8, 5, 10)):
        assert torch.equal(twin(x, lengths), twin(x.clone(), lengths))


@torch.no_grad()
def test_gates_that_are_wide_open_or_shut_are_no_trouble():
    layer, sequences = random_layer(4, 16), ragged(5, 30)
    for parameter in layer.parameters():
        parameter.mul_(1e3)
    x = 1e3 * torch.randn(5, 30, 4)
    found, expected = twin_of(layer)(x, sequences.on_device), layer(x, sequences)
    assert found.isfinite().all() and float(found.abs().max()) <= 1
    first = found[:, 0, 0], expected[:, 0, 0]  # before any rounded state was read
    assert float((first[0] - first[1]).abs().max()) < 0.01


def test_lengths_that_do_not_fit_are_refused():
    twin = twin_of(random_layer(4, 5))
    for length in (-1, 4):
        with pytest.raises(ValueError, match=f"sequence 1 has {length} positions; expected 0 to 3"):
            twin(torch.randn(2, 3, 4), torch.tensor([3, length]))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
@torch.no_grad()
def test_a_copy_lives_on_its_own(copied):
    twin, lengths, x = twin_of(random_layer(4, 5)), ragged(5, 3).on_device, torch.randn(5, 3, 4)
    expected, other = twin(x, lengths), copied(twin)
    for part in twin._parts:
        part.zero_()
    assert torch.equal(other(x, lengths), expected)


def test_training_gradients_and_new_weights_end_the_integers():
    layer, sequences, x = random_layer(12, 20), ragged(9, 7), torch.randn(9, 7, 12)
    with torch.no_grad():
        expected = layer(x, sequences)
        layer.quantize()
        assert not torch.equal(layer(x, sequences), expected)
    assert torch.equal(layer(x, sequences), expected)
    with torch.no_grad():
        layer.load_state_dict(layer.state_dict())
        assert torch.equal(layer(x, sequences), expected)
        layer.quantize()
        assert torch.equal(layer.train()(x, sequences), expected)
        assert torch.equal(layer.eval()(x, sequences), expected)


def spans(model, batch):
    """The scores of those between real boundaries."""
    found = model(batch).spans
    ends = torch.arange(found.shape[1]) <= batch.lengths[:, None]
    return found[ends[:, :, None] & ends[:, None]]


@pytest.mark.parametrize("changes", [{}, {"char_size": 0}, {"tag_head": True}, {"scorer": "minus"}], ids=str)
@torch.no_grad()
def test_a_quantized_model_scores_nearly_as_before_and_keeps_its_weights(changes):
    model, batch = small_model(**changes).eval(), batch_of(TREES)
    expected, weights = spans(model, batch), copy.deepcopy(model.state_dict())
    quantize(model, None, CPU)
    found = spans(model, batch)
    assert not torch.equal(found, expected) and distance(found, expected) < 0.05
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    model.train().eval()
    assert torch.equal(spans(model, batch), expected)


def test_characters_and_all_layers_are_quantized():
    model = small_model().eval()
    quantize(model, "int8", CPU)
    layers = [model.inputs.chars.lstm, *model.lstm.layers]
    assert len(layers) == 3 and all(isinstance(layer._twin, Int8Lstm) for layer in layers)
    quantize(other := small_model().eval(), "float32", CPU)
    assert other.lstm.layers[0]._twin is None


def test_why_there_are_no_integers_is_said(monkeypatch):
    model = SpanModel(replace(SMALL, lstm_layers=1), VOCABULARY.sizes).eval()
    with pytest.raises(ValueError, match="cannot run on 8-bit integers: it runs on cuda"):
        quantize(model, "int8", torch.device("cuda"))
    monkeypatch.setattr(int8, "_compiled", False)
    quantize(model, None, CPU)
    assert model.lstm.layers[0]._twin is None
    with pytest.raises(ValueError, match="as there was no C compiler; load it with precision='float32'"):
        quantize(model, "int8", CPU)
