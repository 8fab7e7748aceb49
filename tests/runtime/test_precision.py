"""Parsers on 8-bit integers: loaded, saved, and alone or in company."""

import pytest
import torch

from nn.batches import TREES, VOCABULARY
from treecrf.data.subwords import SubwordTokenizer
from treecrf.nn import ModelConfig, SpanModel
from treecrf.nn.bert import Bert, BertConfig
from treecrf.parser import Parser
from treecrf.runtime import int8
from treecrf.runtime.int8 import why_unsupported

CONFIGS = {
    "transformer": ModelConfig(
        encoder="transformer", transformer="random", transformer_layers=2, span_size=30, label_size=20, tag_head=True
    ),
    "words in a transformer": ModelConfig(
        encoder="transformer", transformer="random", add_word_inputs=True, transformer_layers=2, span_size=30
    ),
    "lstm": ModelConfig(word_size=20, char_size=10, lstm_size=30, lstm_layers=2, span_size=30, label_size=20),
    "both": ModelConfig(
        word_size=20, transformer="random", transformer_layers=2, lstm_size=30, lstm_layers=1, span_size=30
    ),
}
BERT = BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)


@pytest.fixture(scope="module", params=CONFIGS)
def folder(request, minilm, tmp_path_factory):
    if why := why_unsupported():
        pytest.skip(why)
    torch.manual_seed(0)
    config = CONFIGS[request.param]
    model = SpanModel(config, VOCABULARY.sizes, encoder=Bert(BERT) if config.transformer else None).eval()
    with torch.no_grad():
        entry = [] if model.transformer is None or model.transformer.entry is None else [model.transformer.entry.weight]
        for parameter in [*model.span_scorer.parameters(), *model.label_scorer.parameters(), *entry]:
            parameter.copy_(0.3 * torch.randn_like(parameter))
    path = tmp_path_factory.mktemp("precision") / "parser"
    Parser(model, VOCABULARY, pieces=SubwordTokenizer.load(minilm) if config.transformer else None).save(path)
    return path


def spans(parser):
    return parser.crf(TREES[0].words).scores


def test_a_parser_on_the_cpu_runs_on_integers_unless_told_otherwise(folder):
    unasked, asked = Parser.load(folder, "cpu"), Parser.load(folder, "cpu", precision="int8")
    exact = Parser.load(folder, "cpu", precision="float32")
    assert torch.equal(spans(unasked), spans(asked)) and not torch.equal(spans(asked), spans(exact))
    torch.testing.assert_close(spans(asked), spans(exact), atol=0.1 * float(spans(exact).abs().max()), rtol=0)


def test_true_weights_are_saved(folder, tmp_path):
    Parser.load(folder, "cpu").save(tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("price", [0.0, 0.3])
def test_sentences_alone_and_in_company_have_the_same_trees(folder, price):
    parser = Parser.load(folder, "cpu")
    parser.f1_threshold = price
    sentences = [tree.words for tree in TREES] * 4
    together = list(parser.parse_many(sentences))
    assert together == [parser.parse(words) for words in sentences]
    assert together == list(parser.parse_many(sentences, batch_words=20))


def test_scores_alone_and_in_a_large_batch_are_the_same_bits(folder):
    parser = Parser.load(folder, "cpu")
    words = TREES[0].words
    with torch.no_grad():
        scores = parser.model(parser.numericalizer.collate([words] * 700)).spans.triu(1)
        alone = parser.model(parser.numericalizer.collate([words])).spans.triu(1)
    assert torch.equal(scores, alone.expand_as(scores))


def test_no_product_before_the_scores_is_left_to_floats(folder):
    model = Parser.load(folder, "cpu").model
    around = [] if model.transformer is None else [model.transformer.entry, model.transformer.linear]
    for linear in [linear for linear in around if linear is not None]:
        assert linear.twin_for(linear.weight.detach()) is None  # while gradients are wanted
        with torch.no_grad():
            assert linear.twin_for(linear.weight) is not None


def test_analyses_agree_with_trees(folder):
    parser = Parser.load(folder, "cpu")
    for words in [tree.words for tree in TREES[:3]]:
        analysis = parser.analyze(words, k=2)
        assert analysis.tree == parser.parse(words) and len(analysis.alternatives) <= 2


def test_a_model_that_cannot_runs_on_floats_and_says_why_when_asked(folder, monkeypatch):
    exact = spans(Parser.load(folder, "cpu", precision="float32"))
    monkeypatch.setattr(int8, "_compiled", False)
    assert torch.equal(spans(Parser.load(folder, "cpu")), exact)
    with pytest.raises(ValueError, match="there was no C compiler; load it with precision='float32'"):
        Parser.load(folder, "cpu", precision="int8")
