"""Products of 8-bit integers beside the same in float32."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from data.letters import letters
from nn.batches import SMALL, TREES, VOCABULARY, batch_of
from treecrf.data.batch import Spans
from treecrf.data.numericalize import Numericalizer
from treecrf.nn import SpanModel
from treecrf.nn.bert import Bert, BertConfig
from treecrf.nn.scorers import Biaffine
from treecrf.runtime import int8
from treecrf.runtime.int8 import Int8Bert, Int8Linear, mean_of_pieces, obstacle, why_unsupported
from treecrf.runtime.quantized_model import quantize

WIDE = BertConfig(
    vocab_size=150,
    hidden_size=64,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=128,
    max_position_embeddings=80,
)
CPU = torch.device("cpu")


def random_bert(config=WIDE):
    torch.manual_seed(0)
    bert = Bert(config).eval()
    with torch.no_grad():
        for name, parameter in bert.named_parameters():
            parameter.copy_(torch.randn_like(parameter) / parameter.shape[-1] ** 0.5 + ("LayerNorm.weight" in name))
    return bert


@pytest.fixture
def bert():
    encoder = random_bert()
    if why := obstacle(encoder):
        pytest.skip(why)
    return encoder


def ragged(rows=9, width=37):
    torch.manual_seed(1)
    lengths = torch.randint(1, width + 1, (rows,))
    lengths[0] = width
    return torch.randint(0, 150, (rows, width)), lengths


def real(states, lengths):
    return states[torch.arange(states.shape[1]) < lengths[:, None]]


def distance(found, expected):
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize("layer", range(4))
@torch.no_grad()
def test_hidden_states_are_nearly_those_of_floats(bert, layer):
    pieces, lengths = ragged()
    shares = torch.zeros(4)
    shares[layer] = 1
    found = real(Int8Bert(bert)(pieces, lengths, shares), lengths)
    expected = real(bert(pieces, lengths)[layer], lengths)
    assert distance(found, expected) < (1e-5 if layer == 0 else 0.02)


@torch.no_grad()
def test_what_is_added_to_pieces_goes_through_all_layers(bert):
    pieces, lengths = ragged()
    added = torch.randn(*pieces.shape, 64)
    for layer, limit in ((0, 1e-5), (3, 0.02)):
        shares = torch.zeros(4)
        shares[layer] = 1
        found = real(Int8Bert(bert)(pieces, lengths, shares, added), lengths)
        assert distance(found, real(bert(pieces, lengths, added)[layer], lengths)) < limit
        assert distance(found, real(bert(pieces, lengths)[layer], lengths)) > 0.1


def rounded(x, levels, low):
    step = (x.amax(-1, keepdim=True) - low) / levels
    return low + ((x - low) / step).round() * step


def near_gelu(x):
    """The polynomial of int8.h."""
    near = x.clamp(-4, 4)
    terms = (3.97883340e-1, -6.45730999e-2, 8.77238400e-3, -8.14014688e-4, 4.79554468e-5, -1.59859902e-6, 2.27813814e-8)
    return x * (0.5 + sum(term * near ** (2 * power + 1) for power, term in enumerate(terms)))


def test_its_gelu_is_within_what_8_bits_can_tell():
    x = torch.linspace(-8, 8, 10_001)
    torch.testing.assert_close(near_gelu(x), F.gelu(x), atol=2e-4, rtol=0)


@torch.no_grad()
def test_it_is_the_float_encoder_with_rounded_weights_and_rows(bert, monkeypatch):
    pieces, lengths = ragged()
    found = Int8Bert(bert)(pieces, lengths, torch.ones(1))
    for linear in (module for module in bert.modules() if isinstance(module, torch.nn.Linear)):
        step = linear.weight.abs().amax(1, keepdim=True) / 127
        linear.weight.copy_((linear.weight / step).round() * step)
        linear.register_forward_pre_hook(lambda _, x: (rounded(x[0], 255, x[0].amin(-1, keepdim=True)),))
    monkeypatch.setattr(F, "gelu", near_gelu)
    expected = bert(pieces, lengths)[-1]
    assert distance(real(found, lengths), real(expected, lengths)) < 2e-3  # a tie may fall either way


@torch.no_grad()
def test_layers_are_summed_by_their_shares(bert):
    pieces, lengths = ragged()
    encoder = Int8Bert(bert)
    shares = torch.tensor([0.5, -2.0, 3.0])
    alone = [encoder(pieces, lengths, torch.eye(3)[number]) for number in range(3)]
    together = encoder(pieces, lengths, shares)
    expected = sum(share * layer for share, layer in zip(shares, alone, strict=True))
    torch.testing.assert_close(real(together, lengths), real(expected, lengths), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_company_changes_no_bit(bert):
    pieces, lengths = ragged(rows=40)
    encoder = Int8Bert(bert)
    together = encoder(pieces, lengths, torch.ones(2))
    for row, length in enumerate(lengths.tolist()):
        alone = encoder(pieces[row : row + 1, :length], lengths[row : row + 1], torch.ones(2))
        assert torch.equal(alone[0], together[row, :length])


@pytest.mark.parametrize("threads", [1, 2, 5])
@torch.no_grad()
def test_the_number_of_threads_changes_no_bit(bert, threads, monkeypatch):
    pieces, lengths = ragged(rows=40)
    encoder = Int8Bert(bert)
    expected = real(encoder(pieces, lengths, torch.ones(2)), lengths)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert torch.equal(real(encoder(pieces, lengths, torch.ones(2)), lengths), expected)


def test_threads_may_share_it(bert):
    pieces, lengths = ragged(rows=12)
    encoder = Int8Bert(bert)
    expected = real(encoder(pieces, lengths, torch.ones(1)), lengths)
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(encoder, pieces, lengths, torch.ones(1)) for _ in range(40)]
        assert all(torch.equal(real(one.result(), lengths), expected) for one in found)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_a_copy_lives_on_its_own(bert, copied):
    pieces, lengths = ragged()
    encoder = Int8Bert(bert)
    expected = real(encoder(pieces, lengths, torch.ones(1)), lengths)
    other = copied(encoder)
    for part in encoder._parts:
        part.zero_()
    assert torch.equal(real(other(pieces, lengths, torch.ones(1)), lengths), expected)


def test_pieces_and_lengths_that_do_not_fit_are_refused(bert):
    encoder = Int8Bert(bert)
    with pytest.raises(ValueError, match="window 0 has piece 150; the encoder knows 0 to 149"):
        encoder(torch.tensor([[150]]), torch.tensor([1]), torch.ones(1))
    with pytest.raises(ValueError, match="window 1 has 3 pieces; expected 1 to 2"):
        encoder(torch.zeros(2, 2, dtype=torch.int64), torch.tensor([2, 3]), torch.ones(1))
    with pytest.raises(ValueError, match="window 0 has 90 pieces; expected 1 to 80"):
        encoder(torch.zeros(1, 90, dtype=torch.int64), torch.tensor([90]), torch.ones(1))


def test_rows_of_equal_numbers_and_weights_of_zero_are_no_trouble(bert):
    with torch.no_grad():
        for parameter in bert.parameters():
            parameter.zero_()
    pieces, lengths = ragged()
    assert not real(Int8Bert(bert)(pieces, lengths, torch.ones(4)), lengths).any()


@pytest.mark.parametrize("size", [256, 512])
@torch.no_grad()
def test_real_encoders_and_long_windows_are_read(minilm, size):
    from treecrf.nn.transformer import load_encoder

    encoder = load_encoder(minilm).eval()
    if why := obstacle(encoder):
        pytest.skip(why)
    torch.manual_seed(3)
    pieces, lengths = torch.randint(1000, 20000, (2, size)), torch.tensor([size, 7])
    shares = torch.full((4,), 0.25)
    found = real(Int8Bert(encoder)(pieces, lengths, shares), lengths)
    expected = real(sum(encoder(pieces, lengths)[-4:]) / 4, lengths)
    assert distance(found, expected) < 0.06


@pytest.fixture
def integers():
    if why := why_unsupported():
        pytest.skip(why)
    torch.manual_seed(4)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 1, 1), (5, 17, 63), (6, 64, 64), (200, 100, 130)])
@torch.no_grad()
def test_a_product_is_that_of_floats_with_rounded_weights_and_rows(integers, rows, inputs, outputs):
    x, weight, bias = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    step = weight.abs().amax(1, keepdim=True) / 127
    rough = rounded(x, 255, x.amin(-1, keepdim=True)) if inputs > 1 else x
    expected = torch.nn.functional.linear(rough, (weight / step).round() * step, bias)
    torch.testing.assert_close(Int8Linear(weight, bias)(x), expected, atol=1e-3, rtol=1e-3)
    bent = torch.nn.functional.leaky_relu(expected, 0.1)
    torch.testing.assert_close(Int8Linear(weight, bias, slope=0.1)(x), bent, atol=1e-3, rtol=1e-3)


@torch.no_grad()
def test_rows_that_lie_apart_are_multiplied_alike(integers):
    linear, wide = Int8Linear(torch.randn(70, 30)), torch.randn(4, 9, 90)
    for view in (wide[..., 30:60], wide[:, 2:5, :30], wide.mT[:, :30].mT, wide[:0, :, :30]):
        assert torch.equal(linear(view), linear(view.clone()))


@pytest.mark.parametrize("size", [1, 16, 50])
def test_positions_are_the_means_of_their_pieces_and_zero_without_any(integers, size):
    hidden = torch.randn(3, 7, size)
    rows, places, shares = torch.tensor([20, 0, 5, 6]), torch.tensor([4, 1, 1, 0]), torch.tensor([1, 2, 2, 1])
    flat = hidden.flatten(0, 1)
    expected = torch.zeros(6, size)
    expected[4], expected[1], expected[0] = flat[20], (flat[0] + flat[5]) / 2, flat[6]
    torch.testing.assert_close(mean_of_pieces(hidden, rows, places, shares, 6), expected)


def biaffine(classes, *, bias_right=True):
    scorer = Biaffine(20, 37, classes, bias_right=bias_right).eval()
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return scorer


@pytest.mark.parametrize("classes", [1, 16, 21])
@pytest.mark.parametrize("bias_right", [True, False])
@torch.no_grad()
def test_charts_and_chosen_spans_are_nearly_those_of_floats(integers, classes, bias_right):
    scorer, words = biaffine(classes, bias_right=bias_right), torch.randn(3, 8, 20)
    spans = Spans.at(torch.randperm(3 * 8 * 8)[:100], 8)  # in no order, some of one boundary
    expected = scorer(*scorer.project(words)), scorer.at(*scorer.project(words), spans)
    scorer.quantize()
    found = scorer(*scorer.project(words)), scorer.at(*scorer.project(words), spans)
    for some, other in zip(found, expected, strict=True):
        assert not torch.equal(some, other) and distance(some, other) < 0.02


@torch.no_grad()
def test_new_weights_end_the_integers(integers):
    scorer, words = biaffine(5), torch.randn(3, 8, 20)
    expected = scorer(*scorer.project(words))
    scorer.quantize()
    assert not torch.equal(scorer(*scorer.project(words)), expected)
    scorer.load_state_dict(scorer.state_dict())
    assert torch.equal(scorer(*scorer.project(words)), expected)


def span_model(encoder):
    config = replace(SMALL, char_size=0, encoder="transformer", transformer="random", transformer_layers=2)
    model = SpanModel(config, VOCABULARY.sizes, encoder=encoder).eval()
    with torch.no_grad():
        for parameter in model.span_scorer.parameters():
            parameter.copy_(0.1 * torch.randn_like(parameter))
    return model


def lettered():
    return batch_of(TREES, numericalizer=Numericalizer(VOCABULARY, characters=False, subwords=letters(80)))


def test_a_quantized_model_scores_nearly_as_before_and_keeps_its_weights(bert):
    model, batch = span_model(bert), lettered()
    with torch.no_grad():
        expected, weights = model(batch).spans, copy.deepcopy(model.state_dict())
        quantize(model, None, CPU)
        found = model(batch).spans
    assert not torch.equal(found, expected) and distance(found, expected) < 0.05
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_gradients_and_training_never_see_integers(bert):
    model, batch = span_model(bert), lettered()
    expected = model(batch).spans
    quantize(model, "int8", CPU)
    assert torch.equal(model(batch).spans, expected)
    model.train().eval()
    with torch.no_grad():
        assert torch.equal(model(batch).spans, expected)


def test_float32_is_kept_where_it_is_asked_for(bert):
    model, batch = span_model(bert), lettered()
    quantize(model, "float32", CPU)
    with torch.no_grad():
        assert torch.equal(model(batch).spans, span_model(random_bert())(batch).spans)


def test_why_there_are_no_integers_is_said(monkeypatch):
    narrow = random_bert(replace(WIDE, hidden_size=16))
    model, cuda = span_model(narrow), torch.device("cuda")
    reasons = [(cuda, "it runs on cuda")] + ([] if why_unsupported() else [(CPU, "the encoder's sizes are 16 and 128")])
    for device, reason in reasons:
        quantize(model, None, device)
        with pytest.raises(ValueError, match=f"cannot run on 8-bit integers: {reason}"):
            quantize(model, "int8", device)
    monkeypatch.setattr(int8, "_compiled", False)
    assert "no C compiler" in obstacle(narrow)
    assert "expected a plain BERT" in obstacle(torch.nn.Linear(1, 1))
    with pytest.raises(ValueError, match="precision is 'half'; expected 'float32', 'int8' or None"):
        quantize(model, "half", CPU)


def test_sizes_that_do_not_fit_are_named(bert):
    assert "sizes are 16 and 128" in obstacle(random_bert(replace(WIDE, hidden_size=16)))
