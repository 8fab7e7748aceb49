"""The layers on compiled kernels against the layers in NumPy."""

import ast
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from network.runtime.layers import (
    BERT,
    ENCODERS,
    ragged_pieces,
    random_array,
    random_bert_weights,
    random_lstm_weights,
    relative_error,
    shuffled_lengths,
    without_padding,
)
from treecrf.network.runtime import int8, reference
from treecrf.network.runtime.weights import NARROW_LEVELS, WIDE_LEVELS, Matrix, Weights, quantize_weights

pytestmark = pytest.mark.usefixtures("int8_support")
each_encoder = pytest.mark.parametrize(("config", "width"), ENCODERS.values(), ids=ENCODERS)
LSTM_SIZES = [(1, 1), (3, 5), (17, 16), (50, 50), (64, 70), (200, 400)]  # inputs, units


def rounded(x, levels, low):
    step = (x.max(-1, keepdims=True) - low) / levels
    return low + np.rint((x - low) / step) * step


def rounded_rows(x, levels=WIDE_LEVELS):
    """Rows as the kernels read them: with fewer levels for many inputs, so that sums have 31 bits."""
    padded = x.shape[-1] + -x.shape[-1] % 16
    return rounded(x, min(levels, (2**31 - 1) // (127 * padded)), x.min(-1, keepdims=True))


def rounded_weight(weight):
    step = np.abs(weight).max(1, keepdims=True) / 127
    return np.rint(weight / step) * step


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 1, 1), (5, 17, 63), (6, 64, 64), (200, 100, 130)])
@pytest.mark.parametrize("slope", [1.0, 0.1])
@pytest.mark.parametrize("levels", [NARROW_LEVELS, WIDE_LEVELS])
def test_a_linear_layer_equals_floats_with_rounded_weights_and_rows(rows, inputs, outputs, slope, levels):
    x, weight, bias = random_array(rows, inputs), random_array(outputs, inputs, seed=1), random_array(outputs, seed=2)
    rows_read = rounded_rows(x, levels) if inputs > 1 else x
    expected = reference.Linear(Matrix(rounded_weight(weight)), bias, slope=slope)(rows_read)
    layer = int8.Linear(Matrix(weight), bias, slope=slope, levels=levels)
    np.testing.assert_allclose(layer(x), expected, atol=1e-3, rtol=1e-3)


def test_rows_may_have_any_strides():
    linear, wide = int8.Linear(Matrix(random_array(70, 30))), random_array(4, 9, 90)
    turned = random_array(4, 30, 9).swapaxes(1, 2)
    for view in (wide[..., 30:60], wide[:, 2:5, :30], turned, wide[:0, :, :30], wide[:1, :1, :30]):
        assert np.array_equal(linear(view), linear(view.copy()))


@pytest.mark.parametrize("layer", range(4))
@each_encoder
def test_hidden_states_are_close_to_those_of_floats(config, width, layer):
    weights, (pieces, lengths) = random_bert_weights(config), ragged_pieces(width=width)
    layer_weights = np.eye(4, dtype=np.float32)[layer]
    hidden = without_padding(int8.Bert(config, weights)(pieces, lengths, layer_weights), lengths)
    expected = without_padding(reference.Bert(config, weights)(pieces, lengths, layer_weights), lengths)
    assert relative_error(hidden, expected) < (1e-5 if layer == 0 else 0.02)


def test_piece_inputs_change_all_layers():
    weights, (pieces, lengths) = random_bert_weights(), ragged_pieces()
    inputs = random_array(*pieces.shape, 64)
    encoder, expected_encoder = int8.Bert(BERT, weights), reference.Bert(BERT, weights)
    for layer, limit in ((0, 1e-5), (3, 0.02)):
        layer_weights = np.eye(4, dtype=np.float32)[layer]
        hidden = without_padding(encoder(pieces, lengths, layer_weights, inputs), lengths)
        expected = without_padding(expected_encoder(pieces, lengths, layer_weights, inputs), lengths)
        assert relative_error(hidden, expected) < limit
        assert relative_error(hidden, without_padding(expected_encoder(pieces, lengths, layer_weights), lengths)) > 0.1


@pytest.mark.parametrize(("levels", "error"), [(NARROW_LEVELS, 0.02), (WIDE_LEVELS, 2e-3)])
@each_encoder
def test_the_encoder_equals_floats_with_rounded_weights_and_rows(monkeypatch, config, width, levels, error):
    weights, (pieces, lengths) = random_bert_weights(config), ragged_pieces(width=width)
    hidden = int8.Bert(config, weights, levels=levels)(pieces, lengths, np.ones(1, np.float32))

    class RoundedLinear(reference.Linear):
        def __init__(self, weight, bias=None, *, slope=1.0):
            super().__init__(Matrix(rounded_weight(weight.rows)), bias, slope=slope)

        def __call__(self, x):
            return super().__call__(rounded_rows(x, levels))

    monkeypatch.setattr(reference, "Linear", RoundedLinear)
    expected = reference.Bert(config, weights)(pieces, lengths, np.ones(1, np.float32))
    # a value halfway between two integers may be rounded up or down
    assert relative_error(without_padding(hidden, lengths), without_padding(expected, lengths)) < error


def test_the_output_is_the_weighted_sum_of_layers():
    pieces, lengths = ragged_pieces()
    encoder = int8.Bert(BERT, random_bert_weights())
    layer_weights = np.array([0.5, -2.0, 3.0], np.float32)
    layers = [without_padding(encoder(pieces, lengths, row), lengths) for row in np.eye(3, dtype=np.float32)]
    expected = sum(weight * layer for weight, layer in zip(layer_weights, layers, strict=True))
    hidden = encoder(pieces, lengths, layer_weights)
    np.testing.assert_allclose(without_padding(hidden, lengths), expected, atol=1e-5, rtol=1e-5)


@each_encoder
def test_the_composition_of_a_batch_changes_no_bit_of_the_encoder(config, width):
    pieces, lengths = ragged_pieces(rows=40, width=width)
    encoder, layer_weights = int8.Bert(config, random_bert_weights(config)), np.ones(2, np.float32)
    hidden = encoder(pieces, lengths, layer_weights)
    for row, length in enumerate(lengths.tolist()):
        alone = encoder(pieces[row : row + 1, :length], lengths[row : row + 1], layer_weights)
        assert np.array_equal(alone[0], hidden[row, :length])


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("rows", [1, 40])
@each_encoder
def test_the_number_of_threads_changes_no_bit_of_the_encoder(config, width, threads, rows, monkeypatch):
    pieces, lengths = ragged_pieces(rows=rows, width=width)
    encoder, layer_weights = int8.Bert(config, random_bert_weights(config)), np.ones(2, np.float32)
    expected = without_padding(encoder(pieces, lengths, layer_weights), lengths)
    monkeypatch.setattr(int8, "num_threads", lambda: threads)
    assert np.array_equal(without_padding(encoder(pieces, lengths, layer_weights), lengths), expected)


def test_calls_from_several_threads_are_independent():
    pieces, lengths = ragged_pieces(rows=12)
    encoder, layer_weights = int8.Bert(BERT, random_bert_weights()), np.ones(1, np.float32)
    expected = without_padding(encoder(pieces, lengths, layer_weights), lengths)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(encoder, pieces, lengths, layer_weights) for _ in range(40)]
        assert all(np.array_equal(without_padding(future.result(), lengths), expected) for future in futures)


def test_pieces_and_lengths_out_of_range_are_errors():
    encoder, layer_weights = int8.Bert(BERT, random_bert_weights()), np.ones(1, np.float32)
    with pytest.raises(IndexError, match="index 150 is out of bounds"):
        encoder(np.array([[150]]), np.array([1]), layer_weights)
    with pytest.raises(ValueError, match="length 1 is 3; expected 1 to 2"):
        encoder(np.zeros((2, 2), np.int64), np.array([2, 3]), layer_weights)
    with pytest.raises(ValueError, match="length 0 is 90; expected 1 to 80"):
        encoder(np.zeros((1, 90), np.int64), np.array([90]), layer_weights)


def test_zero_weights_give_zeros():
    zeros = {name: np.zeros_like(array) for name, array in random_bert_weights()._arrays.items()}
    pieces, lengths = ragged_pieces()
    hidden = int8.Bert(BERT, Weights(zeros))(pieces, lengths, np.ones(4, np.float32))
    assert not without_padding(hidden, lengths).any()


@pytest.mark.parametrize(("inputs", "size"), LSTM_SIZES)
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (1, 9), (6, 1), (7, 7), (40, 21)])
def test_lstm_states_are_close_to_those_of_floats_and_zero_in_padding(inputs, size, rows, width):
    weights, lengths, x = (
        random_lstm_weights(inputs, size),
        shuffled_lengths(rows, width),
        random_array(rows, width, inputs),
    )
    states, expected = int8.Lstm(*weights)(x, lengths), reference.Lstm(*weights)(x, lengths)
    assert states.shape == expected.shape == (rows, width, 2, size)
    assert relative_error(without_padding(states, lengths), without_padding(expected, lengths)) < 0.03
    states[np.arange(width) < lengths[:, None]] = 0
    assert not states.any()


@pytest.mark.parametrize(("inputs", "size"), LSTM_SIZES[1:])
def test_the_composition_of_a_batch_changes_no_bit_of_an_lstm(inputs, size):
    lstm, lengths, x = (
        int8.Lstm(*random_lstm_weights(inputs, size)),
        shuffled_lengths(31, 13),
        random_array(31, 13, inputs),
    )
    states = lstm(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = lstm(x[row : row + 1, :length], lengths[row : row + 1])
        assert np.array_equal(alone[0], states[row, :length])


def test_an_lstm_never_reads_padding():
    lstm, lengths, x = int8.Lstm(*random_lstm_weights(9, 20)), shuffled_lengths(14, 6), random_array(14, 6, 9)
    expected = lstm(x, lengths)
    x[np.arange(6) >= lengths[:, None]] = np.nan
    assert np.array_equal(lstm(x, lengths), expected)


def test_empty_sequences_and_empty_batches_have_no_states():
    lstm, x = int8.Lstm(*random_lstm_weights(9, 20)), random_array(3, 4, 9)
    states = lstm(x, np.array([0, 4, 0]))
    assert np.array_equal(states[1:2], lstm(x[1:2], np.array([4]))) and not states[[0, 2]].any()
    assert lstm(x[:0], np.array([], np.int64)).shape == (0, 4, 2, 20)


def test_the_number_of_threads_changes_no_bit_of_an_lstm(monkeypatch):
    lstm, lengths, x = int8.Lstm(*random_lstm_weights(30, 40)), shuffled_lengths(50, 12), random_array(50, 12, 30)
    states = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(int8, "num_threads", lambda threads=threads: threads)
        states.append(lstm(x, lengths))
    assert np.array_equal(states[0], states[1]) and np.array_equal(states[0], states[2])


def test_saturated_gates_give_finite_states():
    weights, lengths = random_lstm_weights(4, 16, scale=2e3), shuffled_lengths(5, 30)
    x = random_array(5, 30, 4, scale=1e3)
    states, expected = int8.Lstm(*weights)(x, lengths), reference.Lstm(*weights)(x, lengths)
    assert np.isfinite(states).all() and np.abs(states).max() <= 1
    # the first step reads no rounded state
    assert np.abs(states[:, 0, 0] - expected[:, 0, 0]).max() < 0.01


def test_lstm_lengths_out_of_range_are_errors():
    lstm = int8.Lstm(*random_lstm_weights(4, 5))
    for length in (-1, 4):
        with pytest.raises(ValueError, match=f"length 1 is {length}; expected 0 to 3"):
            lstm(random_array(2, 3, 4), np.array([3, length]))


@pytest.mark.parametrize("classes", [1, 16, 21])
def test_charts_and_selected_spans_are_close_to_those_of_floats(classes):
    blocks = [random_array(classes, *shape, seed=3 + n) for n, shape in enumerate([(37, 37), (37,), (37,), ()])]
    left, right = random_array(3, 8, 37), random_array(3, 8, 37, seed=1)
    lefts = np.random.default_rng(0).integers(0, 24, 100)  # in random order; some share a boundary
    rights = np.random.default_rng(1).integers(0, 24, 100)
    expected = reference.LabelScorer(*blocks)(left, right, lefts, rights)
    assert relative_error(int8.LabelScorer(*blocks)(left, right, lefts, rights), expected) < 0.02
    if classes == 1:
        first = [block[0] for block in blocks]
        assert relative_error(int8.SpanScorer(*first)(left, right), reference.SpanScorer(*first)(left, right)) < 0.02


def test_scorers_with_stored_bytes_differ_from_those_of_floats_by_the_rounding_of_rows():
    names = ("weight", "left", "right", "bias")
    for classes, size in ((1, 70), (21, 37)):
        blocks = [
            random_array(classes, *shape, seed=3 + n) for n, shape in enumerate([(size, size), (size,), (size,), ()])
        ]
        weights = Weights(quantize_weights(dict(zip(names, blocks, strict=True))))
        stored = [weights[name] for name in names]
        left, right = random_array(3, 8, size), random_array(3, 8, size, seed=1)
        boundaries = (np.random.default_rng(seed).integers(0, 24, 100) for seed in range(2))
        arguments = left, right, *boundaries
        assert relative_error(int8.LabelScorer(*stored)(*arguments), reference.LabelScorer(*stored)(*arguments)) < 1e-3
        if classes == 1:
            first = [block[0] for block in stored]
            expected = reference.SpanScorer(*first)(left, right)
            assert relative_error(int8.SpanScorer(*first)(left, right), expected) < 1e-3


@pytest.mark.parametrize("size", [1, 16, 50])
def test_positions_are_the_means_of_their_pieces_or_zero(size):
    hidden = random_array(3, 7, size)
    pieces = np.array([20, 0, 5, 6]), np.array([4, 1, 1, 0]), np.array([1, 2, 2, 1]), 6
    expected = reference.mean_of_pieces(hidden, *pieces)
    np.testing.assert_allclose(int8.mean_of_pieces(hidden, *pieces), expected, atol=1e-6)


def test_the_reason_names_the_missing_compiler_or_the_sizes(monkeypatch):
    reason = "hidden size 16, intermediate size 128 and head size 8; expected multiples of 64, 64 and 16"
    assert reason in int8.why_unsupported(replace(BERT, hidden_size=16))
    assert int8.why_unsupported(BERT) is None
    monkeypatch.setattr(int8, "is_compiled", False)
    assert "no C compiler" in int8.why_unsupported(BERT)


def test_the_arguments_of_kernels_have_the_names_and_the_order_of_the_stub():
    source = Path(int8.__file__)
    stub = ast.parse(source.with_name("_kernels.pyi").read_text())
    functions = {node.name: [arg.arg for arg in node.args.posonlyargs] for node in stub.body}
    calls = [
        node
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "run_kernel"
    ]
    names = {call.args[0].attr: [keyword.arg for keyword in call.keywords] for call in calls}
    assert set(names) == {"linear", "lstm", "encode", "score_chart", "score_labels"}
    for kernel, keywords in names.items():
        assert functions[kernel] == ["thread", "threads", *keywords, "next", "out"]
