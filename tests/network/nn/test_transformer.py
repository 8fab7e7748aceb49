"""Transformer encoders: a tiny one with random weights, and a real one if its package is installed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from network.data.letters import letters
from network.nn.batches import SMALL, TREES, VOCABULARY, batch_of
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.nn import SpanModel, TensorBatch
from treecrf.network.nn.transformer import ScalarMix, Transformer, build_encoder, load_encoder, save_encoder_config
from treecrf.parser.decoding import decode

transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
FEATURE = replace(SMALL, char_size=0, transformer="tiny", transformer_size=6, transformer_layers=2)
FROZEN = replace(FEATURE, transformer_size=0)
FINE_TUNED = replace(FEATURE, encoder="transformer")
TUNED_FEATURE = replace(FEATURE, transformer_tuned=True, transformer_size=0)
WITH_WORD_INPUTS = replace(FINE_TUNED, add_word_inputs=True)


def tiny_encoder():
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=128,
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=20,
        max_position_embeddings=64,
        pad_token_id=3,
    )
    return transformers.BertModel(config, add_pooling_layer=False)


def batch_with(subwords, trees=TREES):
    return batch_of(trees, numericalizer=Numericalizer(VOCABULARY, characters=False, subwords=subwords))


def test_a_word_vector_is_the_mean_over_its_pieces_and_the_last_layers():
    model = Transformer(FROZEN, tiny_encoder())
    batch = TensorBatch.from_host(Numericalizer(VOCABULARY, subwords=letters()).collate([["ab", "c"]]))
    output = model.encoder(input_ids=torch.tensor([[1, 97, 98, 99, 2]]), output_hidden_states=True)
    last = (output.hidden_states[-1] + output.hidden_states[-2])[0] / 2
    expected = torch.stack([last[0], (last[1] + last[2]) / 2, last[3], last[4]])
    torch.testing.assert_close(model(batch)[0], expected)


def test_word_inputs_are_zero_initially_and_then_added_to_the_pieces():
    model = Transformer(replace(WITH_WORD_INPUTS, word_size=5), tiny_encoder()).eval()
    batch = TensorBatch.from_host(Numericalizer(VOCABULARY, subwords=letters()).collate([["ab", "c"], ["d"]]))
    words = torch.randn(*batch.words.shape, 5)
    torch.testing.assert_close(model(batch, words), model(batch))
    torch.nn.init.normal_(model.entry.weight)
    vectors = model.encoder.embeddings.word_embeddings(torch.tensor([[1, 97, 98, 99, 2]]))
    inputs = vectors + model.entry(words[:1, [0, 1, 1, 2, 3]])
    output = model.encoder(inputs_embeds=inputs, output_hidden_states=True)
    last = (output.hidden_states[-1] + output.hidden_states[-2])[0] / 2
    expected = torch.stack([last[0], (last[1] + last[2]) / 2, last[3], last[4]])
    torch.testing.assert_close(model(batch, words)[0], expected)


def test_the_mix_of_layers_uses_weights_and_scale():
    mix = ScalarMix(2)
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([1.0, 3.0]).log())
        mix.scale.fill_(2)
    hidden = tuple(torch.full((1, 1, 1), value) for value in (100.0, 4.0, 8.0))
    torch.testing.assert_close(mix(hidden), torch.full((1, 1, 1), 2 * (4 + 3 * 8) / 4))


def test_the_segment_size_does_not_change_sentences_that_fit():
    model = Transformer(FROZEN, tiny_encoder())
    longest = max(sum(len(word) for word in tree.words) for tree in TREES) + 2
    wide, exact = batch_with(letters(64), TREES[:3]), batch_with(letters(longest), TREES[:3])
    torch.testing.assert_close(model(wide), model(exact))


def test_sentences_of_several_segments_have_a_vector_for_every_word():
    model = Transformer(FROZEN, tiny_encoder())
    long, short = ["abc", "de"] * 60, ["abc", "de"]
    batch = TensorBatch.from_host(Numericalizer(VOCABULARY, subwords=letters(64)).collate([long, short]))
    assert batch.pieces.shape[0] > 2 and batch.pieces.shape[1] <= 64
    vectors = model(batch)
    assert vectors[0].abs().sum(-1).all() and not vectors[1, 4:].any()
    alone = TensorBatch.from_host(Numericalizer(VOCABULARY, subwords=letters(64)).collate([short]))
    torch.testing.assert_close(vectors[1, :4], model(alone)[0])


def test_a_frozen_encoder_has_no_gradients_and_no_dropout():
    model = SpanModel(FEATURE, VOCABULARY.sizes, encoder=tiny_encoder()).train()
    batch = batch_with(letters())
    torch.testing.assert_close(model.transformer(batch), model.transformer(batch))
    model.loss(batch).total().backward()
    assert all(parameter.grad is None for parameter in model.transformer.encoder.parameters())
    assert model.transformer.linear.weight.grad is not None and model.transformer.linear.bias is None


@pytest.mark.parametrize(
    "config", [FINE_TUNED, TUNED_FEATURE, WITH_WORD_INPUTS], ids=["encoder", "feature", "with word inputs"]
)
def test_every_parameter_of_a_fine_tuned_encoder_gets_a_gradient(config):
    model = SpanModel(replace(config, tag_head=True), VOCABULARY.sizes, encoder=tiny_encoder())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    model.loss(batch_with(letters())).total().backward()
    without_gradient = [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    assert not without_gradient


@pytest.mark.parametrize(
    "config",
    [FEATURE, FINE_TUNED, TUNED_FEATURE, WITH_WORD_INPUTS],
    ids=["frozen feature", "encoder", "tuned feature", "with word inputs"],
)
def test_other_sentences_do_not_change_a_sentence(config):
    model = SpanModel(config, VOCABULARY.sizes, encoder=tiny_encoder()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    together = model(batch_with(letters(40))).spans
    for number, tree in enumerate(TREES):
        size = len(tree.words) + 1
        alone = model(batch_with(letters(40), [tree])).spans[0]
        torch.testing.assert_close(alone, together[number, :size, :size], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "config",
    [FEATURE, FINE_TUNED, TUNED_FEATURE, WITH_WORD_INPUTS],
    ids=["frozen feature", "encoder", "tuned feature", "with word inputs"],
)
def test_a_saved_model_is_rebuilt_without_the_original_encoder(config, tmp_path):
    model = SpanModel(config, VOCABULARY.sizes, encoder=tiny_encoder()).eval()
    save_encoder_config(model.transformer.encoder, tmp_path)
    copy = SpanModel(config, VOCABULARY.sizes, encoder=build_encoder(tmp_path)).eval()
    copy.load_state_dict(model.state_dict())
    torch.testing.assert_close(copy(batch_with(letters())).left, model(batch_with(letters())).left)


def test_a_batch_without_pieces_is_an_error():
    with pytest.raises(ValueError, match="subword pieces and the batch has none"):
        SpanModel(FINE_TUNED, VOCABULARY.sizes, encoder=tiny_encoder())(batch_of(TREES))


def test_the_error_for_a_missing_encoder_names_it(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"no encoder could be loaded from .*nowhere"):
        load_encoder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"no tokenizer could be loaded from .*nowhere"):
        SubwordTokenizer.load(tmp_path / "nowhere")
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(ImportError, match=r"pip install 'treecrf\[transformers\]'"):
        load_encoder("any")
    with pytest.raises(ImportError, match=r"pip install 'treecrf\[transformers\]'"):
        SubwordTokenizer.load("any")


@pytest.mark.parametrize("kind", ["Bert", "MPNet"])
def test_weights_in_16_bits_become_32_bits(kind, tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = getattr(transformers, f"{kind}Config")(vocab_size=30, **sizes)
    getattr(transformers, f"{kind}Model")(config).half().save_pretrained(tmp_path)
    encoder = load_encoder(tmp_path)
    assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}


def test_the_pieces_of_a_real_encoder_equal_those_of_its_tokenizer(minilm):
    subwords = SubwordTokenizer.load(minilm)
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    words = ["Parsers", "read", "unbelievably", "(", "well", ")", "!"]
    batch = TensorBatch.from_host(Numericalizer(VOCABULARY, subwords=subwords).collate([words]))
    assert batch.pieces.tolist() == [tokenizer(words, is_split_into_words=True)["input_ids"]]
    assert subwords.split(["\u200b", ""]) == [[tokenizer.unk_token_id]] * 2


def test_a_real_encoder_is_saved_and_rebuilt(minilm, tmp_path):
    config = replace(FINE_TUNED, transformer=str(minilm), transformer_layers=4)
    model = SpanModel(config, VOCABULARY.sizes, encoder=load_encoder(minilm)).eval()
    subwords = SubwordTokenizer.load(minilm)
    save_encoder_config(model.transformer.encoder, tmp_path)
    subwords.save(tmp_path)
    again = SubwordTokenizer.load(tmp_path)
    assert again.segment_size == subwords.segment_size and again.split(["unbelievably"]) == subwords.split(
        ["unbelievably"]
    )
    copy = SpanModel(config, VOCABULARY.sizes, encoder=build_encoder(tmp_path)).eval()
    copy.load_state_dict(model.state_dict())
    one, other = (decode(m(batch_with(p)).to_host()) for m, p in ((model, subwords), (copy, again)))
    assert np.array_equal(one.starts, other.starts) and np.array_equal(one.labels, other.labels)


def test_a_real_encoder_reads_long_sentences_in_segments(minilm):
    model = Transformer(replace(FROZEN, transformer_layers=4), load_encoder(minilm))
    subwords = SubwordTokenizer.load(minilm)
    words = ["the", "old", "teacher", "paints", "a", "quiet", "river", "behind", "every", "small", "wall"] * 60
    batch = TensorBatch.from_host(Numericalizer(VOCABULARY, subwords=subwords).collate([words]))
    assert len(batch.pieces) > 1
    vectors = model(batch)[0]
    assert vectors.isfinite().all() and vectors.abs().sum(-1).all()
    # a word far from the borders of segments hardly depends on them
    narrow_subwords = SubwordTokenizer.load(minilm)
    narrow_subwords.segment_size = 400
    narrow = model(TensorBatch.from_host(Numericalizer(VOCABULARY, subwords=narrow_subwords).collate([words])))[0]
    assert torch.cosine_similarity(vectors[1:-1], narrow[1:-1], dim=-1).min() > 0.8
