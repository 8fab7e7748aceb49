"""Int8 copies of models, and parsers that score with them.

Tests with the fixture `kernels` also run with float versions of the kernels, on machines without int8 instructions.
"""

import copy
import pickle
from dataclasses import replace

import pytest
import torch

from data.letters import letters
from nn.batches import SMALL, TREES, VOCABULARY, batch_of, small_model
from runtime.float_kernels import use_float_kernels
from treecrf.data.batch import SequenceLengths, Spans
from treecrf.data.numericalize import Numericalizer
from treecrf.data.subwords import SubwordTokenizer
from treecrf.nn import ModelConfig, SpanModel
from treecrf.nn.bert import Bert, BertConfig
from treecrf.nn.lstm import BiLSTMLayer
from treecrf.nn.scorers import Biaffine
from treecrf.parser import Parser
from treecrf.runtime import int8
from treecrf.runtime.int8 import why_unsupported
from treecrf.runtime.quantized_model import Int8Biaffine, Int8LSTMLayer, Int8Transformer, quantize

CPU = torch.device("cpu")
SMALL_CHANGES = {
    "lstm": {},
    "lstm without characters": {"char_size": 0},
    "lstm with tags": {"tag_head": True},
    "minus": {"scorer": "minus"},
    "one-stage": {"loss": "one-stage-crf"},
}
TRANSFORMER = replace(SMALL, char_size=0, encoder="transformer", transformer="random", transformer_layers=2)
TRANSFORMERS = {
    "transformer": TRANSFORMER,
    "transformer with word inputs": replace(TRANSFORMER, add_word_inputs=True),
    "transformer feature": replace(TRANSFORMER, encoder="lstm"),
}


def random_bert(hidden_size=64):
    config = BertConfig(
        vocab_size=150,
        hidden_size=hidden_size,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=128,
        max_position_embeddings=80,
    )
    return Bert(config)


def model_and_batch(name):
    if name in SMALL_CHANGES:
        return small_model(**SMALL_CHANGES[name]).eval(), batch_of(TREES)
    numericalizer = Numericalizer(VOCABULARY, characters=False, subwords=letters(80))
    model = small_model(TRANSFORMERS[name], encoder=random_bert())
    return model.eval(), batch_of(TREES, numericalizer=numericalizer)


def skip_without_int8():
    if reason := why_unsupported():
        pytest.skip(reason)


@pytest.fixture
def int8_support():
    skip_without_int8()


@pytest.fixture(params=["int8", "float"])
def kernels(request, monkeypatch):
    """The kernels that `quantize` uses: the int8 ones, or float versions of them."""
    if request.param == "int8":
        skip_without_int8()
    else:
        use_float_kernels(monkeypatch)
    return request.param


def relative_error(values, expected):
    return float((values - expected).norm() / expected.norm())


def assert_similar(values, expected, kernels, *, limit=0.08):  # 8 bits are few for random weights
    """Checks that int8 results differ from float results by rounding, and those of the float kernels hardly at all."""
    if kernels == "float":
        assert relative_error(values, expected) < 1e-5
    else:
        assert not torch.equal(values, expected) and relative_error(values, expected) < limit


def span_scores(model, batch):
    """The scores of spans between actual boundaries."""
    scores = model(batch).spans
    is_boundary = torch.arange(scores.shape[1]) <= batch.lengths[:, None]
    return scores[is_boundary[:, :, None] & is_boundary[:, None]]


def gold_label_scores(model, batch):
    return model(batch).labels_at(batch.spans)


@pytest.mark.parametrize("name", [*SMALL_CHANGES, *TRANSFORMERS])
@torch.no_grad()
def test_scores_of_the_copy_are_close_to_those_of_the_model(name, kernels):
    model, batch = model_and_batch(name)
    int8_model = quantize(model, None, CPU)
    assert_similar(span_scores(int8_model, batch), span_scores(model, batch), kernels)
    assert_similar(gold_label_scores(int8_model, batch), gold_label_scores(model, batch), kernels)
    if model.tagger is not None:
        is_word = torch.arange(batch.longest) < batch.lengths[:, None]
        assert_similar(int8_model(batch).tags[is_word], model(batch).tags[is_word], kernels)


@pytest.mark.parametrize("name", [*SMALL_CHANGES, *TRANSFORMERS])
def test_quantization_leaves_the_model_unchanged(name, kernels):
    model, batch = model_and_batch(name)
    modules, weights, scores = list(model.modules()), copy.deepcopy(model.state_dict()), model(batch).spans
    quantize(model, "int8", CPU)
    assert all(now is before for now, before in zip(model.modules(), modules, strict=True))
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(model(batch).spans, scores)


def test_a_quantized_model_can_be_trained(kernels):
    model, batch = model_and_batch("lstm")
    int8_model = quantize(model, "int8", CPU)
    model.train()
    assert not int8_model.training
    scores = model(batch).spans
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scores.sum().backward()
    optimizer.step()
    assert not torch.equal(model(batch).spans, scores)


def test_the_copy_keeps_the_weights_that_it_was_made_from(kernels):
    layer, biaffine = random_layer(12, 20), random_biaffine(5)
    int8_layer, int8_biaffine = Int8LSTMLayer(layer), Int8Biaffine(biaffine)
    lengths, x, words = shuffled_lengths(9, 7), torch.randn(9, 7, 12), torch.randn(3, 8, 20)
    spans = Spans.at(torch.arange(100), 8)
    with torch.no_grad():
        states, scores = int8_layer(x, lengths), int8_biaffine.at(*int8_biaffine.project(words), spans)
        for parameter in (*layer.parameters(), *biaffine.parameters()):
            parameter.zero_()
        assert torch.equal(int8_layer(x, lengths), states)
        assert torch.equal(int8_biaffine.at(*int8_biaffine.project(words), spans), scores)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
@torch.no_grad()
def test_a_copied_or_pickled_int8_model_has_the_same_scores(copied, kernels):
    model, batch = model_and_batch("lstm with tags")
    int8_model = quantize(model, "int8", CPU)
    assert torch.equal(copied(int8_model)(batch).spans, int8_model(batch).spans)


def random_layer(inputs, size):
    torch.manual_seed(0)
    return BiLSTMLayer(inputs, size).eval()


def shuffled_lengths(rows, width):
    lengths = (torch.arange(rows) % width + 1)[torch.randperm(rows)]
    return SequenceLengths(lengths, lengths, width)


@torch.no_grad()
def test_states_of_an_lstm_layer_are_close_to_those_of_floats(kernels):
    layer, lengths, x = random_layer(12, 20), shuffled_lengths(9, 7), torch.randn(9, 7, 12)
    is_step = torch.arange(7) < lengths.on_device[:, None]
    assert_similar(Int8LSTMLayer(layer)(x, lengths)[is_step], layer(x, lengths)[is_step], kernels)


def random_biaffine(classes, *, bias_right=True):
    torch.manual_seed(4)
    scorer = Biaffine(20, 37, classes, bias_right=bias_right).eval()
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return scorer


@pytest.mark.parametrize("classes", [1, 16, 21])
@pytest.mark.parametrize("bias_right", [True, False])
@torch.no_grad()
def test_charts_and_selected_spans_are_close_to_those_of_floats(kernels, classes, bias_right):
    scorer, words = random_biaffine(classes, bias_right=bias_right), torch.randn(3, 8, 20)
    int8_scorer = Int8Biaffine(scorer)
    spans = Spans.at(torch.randperm(3 * 8 * 8)[:100], 8)  # in random order; some share a boundary
    boundaries, int8_boundaries = scorer.project(words), int8_scorer.project(words)
    assert_similar(int8_scorer(*int8_boundaries), scorer(*boundaries), kernels, limit=0.02)
    assert_similar(int8_scorer.at(*int8_boundaries, spans), scorer.at(*boundaries, spans), kernels, limit=0.02)


def test_characters_and_all_lstm_layers_are_quantized(kernels):
    int8_model = quantize(small_model().eval(), "int8", CPU)
    layers = [int8_model.inputs.chars.lstm, *int8_model.lstm.layers]
    assert len(layers) == 3 and all(isinstance(layer, Int8LSTMLayer) for layer in layers)
    assert all(isinstance(scorer, Int8Biaffine) for scorer in (int8_model.span_scorer, int8_model.label_scorer))


def test_only_embeddings_are_left_in_float32(kernels):
    model, _ = model_and_batch("transformer with word inputs")
    int8_model = quantize(model, "int8", CPU)
    assert isinstance(int8_model.transformer, Int8Transformer)
    names = [name for name, _ in int8_model.named_parameters() if not name.startswith("inputs.")]
    assert all("_float." in name for name in names)  # of scorers with several classes, for charts of labels


def test_float32_has_no_int8_copy(kernels):
    assert quantize(small_model().eval(), "float32", CPU) is None


@pytest.mark.parametrize("encoder", [None, "narrow"])
def test_the_error_gives_the_reason_why_a_model_cannot_be_quantized(encoder, monkeypatch):
    model = small_model().eval() if encoder is None else small_model(TRANSFORMER, encoder=random_bert(16)).eval()
    with pytest.raises(ValueError, match="cannot run on 8-bit integers: it runs on cuda"):
        quantize(model, "int8", torch.device("cuda"))
    assert quantize(model, None, torch.device("cuda")) is None
    with pytest.raises(ValueError, match="precision is 'half'; expected 'float32', 'int8' or None"):
        quantize(model, "half", CPU)
    monkeypatch.setattr(int8, "_compiled", False)
    assert quantize(model, None, CPU) is None
    with pytest.raises(ValueError, match="as there was no C compiler; load it with precision='float32'"):
        quantize(model, "int8", CPU)


def test_the_error_gives_unsupported_sizes_of_the_encoder(int8_support):
    model = small_model(TRANSFORMER, encoder=random_bert(16)).eval()
    assert quantize(model, None, CPU) is None
    with pytest.raises(ValueError, match="cannot run on 8-bit integers: the encoder has hidden size 16"):
        quantize(model, "int8", CPU)


PARSER_CONFIGS = {
    "transformer": ModelConfig(
        encoder="transformer", transformer="random", transformer_layers=2, span_size=30, label_size=20, tag_head=True
    ),
    "transformer with word inputs": ModelConfig(
        encoder="transformer", transformer="random", add_word_inputs=True, transformer_layers=2, span_size=30
    ),
    "lstm": ModelConfig(word_size=20, char_size=10, lstm_size=30, lstm_layers=2, span_size=30, label_size=20),
    "transformer feature": ModelConfig(
        word_size=20, transformer="random", transformer_layers=2, lstm_size=30, lstm_layers=1, span_size=30
    ),
}
PARSER_BERT = BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)


@pytest.fixture(scope="module", params=PARSER_CONFIGS)
def folder(request, minilm, tmp_path_factory):
    """A saved parser with random weights."""
    torch.manual_seed(0)
    config = PARSER_CONFIGS[request.param]
    model = SpanModel(config, VOCABULARY.sizes, encoder=Bert(PARSER_BERT) if config.transformer else None).eval()
    with torch.no_grad():
        entry = [] if model.transformer is None or model.transformer.entry is None else [model.transformer.entry.weight]
        for parameter in [*model.span_scorer.parameters(), *model.label_scorer.parameters(), *entry]:
            parameter.copy_(0.3 * torch.randn_like(parameter))
    path = tmp_path_factory.mktemp("quantized") / "parser"
    Parser(model, VOCABULARY, subwords=SubwordTokenizer.load(minilm) if config.transformer else None).save(path)
    return path


def parser_span_scores(parser):
    return parser.crf(TREES[0].words).scores


def test_a_parser_on_the_cpu_scores_with_int8_by_default(folder, kernels):
    default, int8_parser = Parser.load(folder, "cpu"), Parser.load(folder, "cpu", precision="int8")
    float_parser = Parser.load(folder, "cpu", precision="float32")
    assert default.scorer is not default.model and float_parser.scorer is float_parser.model
    scores, expected = parser_span_scores(int8_parser), parser_span_scores(float_parser)
    assert torch.equal(parser_span_scores(default), scores)
    assert kernels == "float" or not torch.equal(scores, expected)
    torch.testing.assert_close(scores, expected, atol=0.1 * float(expected.abs().max()), rtol=0)


def test_float_weights_are_saved_unchanged(folder, kernels, tmp_path):
    Parser.load(folder, "cpu").save(tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("f1_threshold", [0.0, 0.3])
def test_a_sentence_has_the_same_tree_in_any_batch(folder, int8_support, f1_threshold):
    parser = Parser.load(folder, "cpu")
    parser.f1_threshold = f1_threshold
    sentences = [tree.words for tree in TREES] * 4
    trees = list(parser.parse_many(sentences))
    assert trees == [parser.parse(words) for words in sentences]
    assert trees == list(parser.parse_many(sentences, batch_words=20))


def test_the_size_of_a_batch_changes_no_bit_of_the_scores(folder, int8_support):
    parser = Parser.load(folder, "cpu")
    words = TREES[0].words
    with torch.no_grad():
        scores = parser.scorer(parser.numericalizer.collate([words] * 700)).spans.triu(1)
        alone = parser.scorer(parser.numericalizer.collate([words])).spans.triu(1)
    assert torch.equal(scores, alone.expand_as(scores))


def test_analyses_have_the_parsed_trees(folder, kernels):
    parser = Parser.load(folder, "cpu")
    for words in [tree.words for tree in TREES[:3]]:
        analysis = parser.analyze(words, k=2)
        assert analysis.tree == parser.parse(words) and len(analysis.alternatives) <= 2


def test_a_parser_without_int8_support_uses_float32_and_gives_the_reason_on_request(folder, monkeypatch):
    expected = parser_span_scores(Parser.load(folder, "cpu", precision="float32"))
    monkeypatch.setattr(int8, "_compiled", False)
    assert torch.equal(parser_span_scores(Parser.load(folder, "cpu")), expected)
    with pytest.raises(ValueError, match="there was no C compiler; load it with precision='float32'"):
        Parser.load(folder, "cpu", precision="int8")
