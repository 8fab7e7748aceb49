"""The int8 kernels of BERT and linear layers against float32."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from treecrf.nn.bert import Bert, BertConfig
from treecrf.runtime import _kernels, int8
from treecrf.runtime.int8 import Int8Bert, Int8Linear, mean_of_pieces, why_encoder_unsupported, why_unsupported

CONFIG = BertConfig(
    vocab_size=150,
    hidden_size=64,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=128,
    max_position_embeddings=80,
)


def random_bert(config=CONFIG):
    torch.manual_seed(0)
    bert = Bert(config).eval()
    with torch.no_grad():
        for name, parameter in bert.named_parameters():
            parameter.copy_(torch.randn_like(parameter) / parameter.shape[-1] ** 0.5 + ("LayerNorm.weight" in name))
    return bert


@pytest.fixture
def bert():
    encoder = random_bert()
    if reason := why_encoder_unsupported(encoder):
        pytest.skip(reason)
    return encoder


def ragged_pieces(rows=9, width=37):
    torch.manual_seed(1)
    lengths = torch.randint(1, width + 1, (rows,))
    lengths[0] = width
    return torch.randint(0, 150, (rows, width)), lengths


def without_padding(states, lengths):
    return states[torch.arange(states.shape[1]) < lengths[:, None]]


def relative_error(values, expected):
    return float((values - expected).norm() / expected.norm())


@pytest.mark.parametrize("layer", range(4))
@torch.no_grad()
def test_hidden_states_are_close_to_those_of_floats(bert, layer):
    pieces, lengths = ragged_pieces()
    layer_weights = torch.zeros(4)
    layer_weights[layer] = 1
    hidden = without_padding(Int8Bert(bert)(pieces, lengths, layer_weights), lengths)
    expected = without_padding(bert(pieces, lengths)[layer], lengths)
    assert relative_error(hidden, expected) < (1e-5 if layer == 0 else 0.02)


@torch.no_grad()
def test_piece_inputs_change_all_layers(bert):
    pieces, lengths = ragged_pieces()
    piece_inputs = torch.randn(*pieces.shape, 64)
    for layer, limit in ((0, 1e-5), (3, 0.02)):
        layer_weights = torch.zeros(4)
        layer_weights[layer] = 1
        hidden = without_padding(Int8Bert(bert)(pieces, lengths, layer_weights, piece_inputs), lengths)
        assert relative_error(hidden, without_padding(bert(pieces, lengths, piece_inputs)[layer], lengths)) < limit
        assert relative_error(hidden, without_padding(bert(pieces, lengths)[layer], lengths)) > 0.1


def rounded(x, levels, low):
    step = (x.amax(-1, keepdim=True) - low) / levels
    return low + ((x - low) / step).round() * step


def levels(inputs):
    """The largest quantized value of a row: fewer for many inputs, so that sums have 31 bits."""
    padded = inputs + -inputs % 16
    return min(_kernels.select(_kernels.selected()), (2**31 - 1) // (127 * padded))


def rounded_rows(x):
    return rounded(x, levels(x.shape[-1]), x.amin(-1, keepdim=True))


def polynomial_gelu(x):
    """The polynomial of linear.h."""
    clamped = x.clamp(-4, 4)
    terms = (3.97883340e-1, -6.45730999e-2, 8.77238400e-3, -8.14014688e-4, 4.79554468e-5, -1.59859902e-6, 2.27813814e-8)
    return x * (0.5 + sum(term * clamped ** (2 * power + 1) for power, term in enumerate(terms)))


def test_the_polynomial_gelu_is_more_exact_than_8_bits():
    x = torch.linspace(-8, 8, 10_001)
    torch.testing.assert_close(polynomial_gelu(x), F.gelu(x), atol=2e-4, rtol=0)


@torch.no_grad()
def test_the_encoder_equals_the_float_encoder_with_rounded_weights_and_rows(bert, monkeypatch):
    pieces, lengths = ragged_pieces()
    hidden = Int8Bert(bert)(pieces, lengths, torch.ones(1))
    for linear in (module for module in bert.modules() if isinstance(module, torch.nn.Linear)):
        step = linear.weight.abs().amax(1, keepdim=True) / 127
        linear.weight.copy_((linear.weight / step).round() * step)
        linear.register_forward_pre_hook(
            lambda _, x: (rounded(x[0], levels(x[0].shape[-1]), x[0].amin(-1, keepdim=True)),)
        )
    monkeypatch.setattr(F, "gelu", polynomial_gelu)
    expected = bert(pieces, lengths)[-1]
    # a value halfway between two integers may be rounded up or down
    assert relative_error(without_padding(hidden, lengths), without_padding(expected, lengths)) < 2e-3


@torch.no_grad()
def test_the_output_is_the_weighted_sum_of_layers(bert):
    pieces, lengths = ragged_pieces()
    encoder = Int8Bert(bert)
    layer_weights = torch.tensor([0.5, -2.0, 3.0])
    layers = [encoder(pieces, lengths, torch.eye(3)[number]) for number in range(3)]
    hidden = encoder(pieces, lengths, layer_weights)
    expected = sum(weight * layer for weight, layer in zip(layer_weights, layers, strict=True))
    torch.testing.assert_close(
        without_padding(hidden, lengths), without_padding(expected, lengths), atol=1e-5, rtol=1e-5
    )


@torch.no_grad()
def test_the_composition_of_a_batch_changes_no_bit(bert):
    pieces, lengths = ragged_pieces(rows=40)
    encoder = Int8Bert(bert)
    hidden = encoder(pieces, lengths, torch.ones(2))
    for row, length in enumerate(lengths.tolist()):
        alone = encoder(pieces[row : row + 1, :length], lengths[row : row + 1], torch.ones(2))
        assert torch.equal(alone[0], hidden[row, :length])


@pytest.mark.parametrize("threads", [1, 2, 5])
@torch.no_grad()
def test_the_number_of_threads_changes_no_bit(bert, threads, monkeypatch):
    pieces, lengths = ragged_pieces(rows=40)
    encoder = Int8Bert(bert)
    expected = without_padding(encoder(pieces, lengths, torch.ones(2)), lengths)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert torch.equal(without_padding(encoder(pieces, lengths, torch.ones(2)), lengths), expected)


def test_calls_from_several_threads_are_independent(bert):
    pieces, lengths = ragged_pieces(rows=12)
    encoder = Int8Bert(bert)
    expected = without_padding(encoder(pieces, lengths, torch.ones(1)), lengths)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(encoder, pieces, lengths, torch.ones(1)) for _ in range(40)]
        assert all(torch.equal(without_padding(future.result(), lengths), expected) for future in futures)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_a_copy_has_its_own_weights(bert, copied):
    pieces, lengths = ragged_pieces()
    encoder = Int8Bert(bert)
    expected = without_padding(encoder(pieces, lengths, torch.ones(1)), lengths)
    other = copied(encoder)
    for parameter in encoder._parameters:
        parameter.zero_()
    assert torch.equal(without_padding(other(pieces, lengths, torch.ones(1)), lengths), expected)


def test_pieces_and_lengths_out_of_range_are_errors(bert):
    encoder = Int8Bert(bert)
    with pytest.raises(ValueError, match="piece 0 is 150; expected 0 to 149"):
        encoder(torch.tensor([[150]]), torch.tensor([1]), torch.ones(1))
    with pytest.raises(ValueError, match="length 1 is 3; expected 1 to 2"):
        encoder(torch.zeros(2, 2, dtype=torch.int64), torch.tensor([2, 3]), torch.ones(1))
    with pytest.raises(ValueError, match="length 0 is 90; expected 1 to 80"):
        encoder(torch.zeros(1, 90, dtype=torch.int64), torch.tensor([90]), torch.ones(1))


def test_constant_rows_and_zero_weights_give_zeros(bert):
    with torch.no_grad():
        for parameter in bert.parameters():
            parameter.zero_()
    pieces, lengths = ragged_pieces()
    assert not without_padding(Int8Bert(bert)(pieces, lengths, torch.ones(4)), lengths).any()


@pytest.mark.parametrize("size", [256, 512])
@torch.no_grad()
def test_a_pretrained_encoder_with_long_segments_is_close_to_float32(minilm, size):
    from treecrf.nn.transformer import load_encoder

    encoder = load_encoder(minilm).eval()
    if reason := why_encoder_unsupported(encoder):
        pytest.skip(reason)
    torch.manual_seed(3)
    pieces, lengths = torch.randint(1000, 20000, (2, size)), torch.tensor([size, 7])
    layer_weights = torch.full((4,), 0.25)
    hidden = without_padding(Int8Bert(encoder)(pieces, lengths, layer_weights), lengths)
    expected = without_padding(sum(encoder(pieces, lengths)[-4:]) / 4, lengths)
    assert relative_error(hidden, expected) < 0.06


@pytest.fixture
def int8_support():
    if reason := why_unsupported():
        pytest.skip(reason)
    torch.manual_seed(4)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 1, 1), (5, 17, 63), (6, 64, 64), (200, 100, 130)])
@torch.no_grad()
def test_a_linear_layer_equals_float32_with_rounded_weights_and_rows(int8_support, rows, inputs, outputs):
    x, weight, bias = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    step = weight.abs().amax(1, keepdim=True) / 127
    expected = F.linear(rounded_rows(x) if inputs > 1 else x, (weight / step).round() * step, bias)
    torch.testing.assert_close(Int8Linear(weight, bias)(x), expected, atol=1e-3, rtol=1e-3)
    activated = F.leaky_relu(expected, 0.1)
    torch.testing.assert_close(Int8Linear(weight, bias, slope=0.1)(x), activated, atol=1e-3, rtol=1e-3)


@torch.no_grad()
def test_rows_may_have_any_strides(int8_support):
    linear, wide = Int8Linear(torch.randn(70, 30)), torch.randn(4, 9, 90)
    for view in (wide[..., 30:60], wide[:, 2:5, :30], wide.mT[:, :30].mT, wide[:0, :, :30]):
        assert torch.equal(linear(view), linear(view.clone()))


@pytest.mark.parametrize("size", [1, 16, 50])
def test_positions_are_the_means_of_their_pieces_or_zero(int8_support, size):
    hidden = torch.randn(3, 7, size)
    rows, positions, counts = torch.tensor([20, 0, 5, 6]), torch.tensor([4, 1, 1, 0]), torch.tensor([1, 2, 2, 1])
    flat = hidden.flatten(0, 1)
    expected = torch.zeros(6, size)
    expected[4], expected[1], expected[0] = flat[20], (flat[0] + flat[5]) / 2, flat[6]
    torch.testing.assert_close(mean_of_pieces(hidden, rows, positions, counts, 6), expected)


def test_the_reason_names_the_missing_compiler_or_the_encoder(monkeypatch):
    monkeypatch.setattr(int8, "_compiled", False)
    assert "no C compiler" in why_encoder_unsupported(random_bert())
    assert "the encoder is a Linear; expected a plain BERT" in why_encoder_unsupported(torch.nn.Linear(1, 1))


def test_the_reason_names_unsupported_sizes(monkeypatch):
    monkeypatch.setattr(int8, "why_unsupported", lambda: None)
    assert why_encoder_unsupported(random_bert()) is None
    reason = "hidden size 16, intermediate size 128 and head size 8; expected multiples of 64, 64 and 16"
    assert reason in why_encoder_unsupported(random_bert(replace(CONFIG, hidden_size=16)))
