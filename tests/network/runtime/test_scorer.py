"""The network without PyTorch against the network of PyTorch, and parsers that use it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from network.data.letters import letters
from network.nn.batches import SMALL, TREES, VOCABULARY, host_batch_of, small_model
from network.runtime.layers import BERT, random_array, relative_error
from treecrf.network.data.batch import UNK
from treecrf.network.data.model_config import BertConfig, ModelConfig
from treecrf.network.data.numericalize import CAPITAL_CLASSES, Numericalizer
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.nn import SpanModel
from treecrf.network.nn.bert import Bert
from treecrf.network.runtime import int8, reference
from treecrf.network.runtime.scorer import DEFAULT_PRECISION, CharVectors, Scorer
from treecrf.network.runtime.weights import Matrix, Weights
from treecrf.parser import Parser, scorers
from treecrf.parser.scorers import warn_about_missing_parts
from treecrf.parser.storage import load_parser_state, save_parser_state

CHANGES = {
    "lstm": {},
    "lstm without characters": {"char_size": 0},
    "lstm with tags": {"tag_head": True},
    "lstm with tags and capitals": {"tag_head": True, "tag_capitals": True},
    "lstm that reads tags": {"tag_size": 4},
    "lstm states of the same word": {"boundary": "same-word"},
    "minus": {"scorer": "minus"},
    "one-stage": {"loss": "one-stage-crf"},
    "one-stage margin": {"loss": "one-stage-margin"},
    "one-stage minus": {"loss": "one-stage-crf", "scorer": "minus"},
}
TRANSFORMER = replace(SMALL, char_size=0, encoder="transformer", transformer="random", transformer_layers=2)
TRANSFORMERS = {
    "transformer": TRANSFORMER,
    "transformer with word inputs": replace(TRANSFORMER, add_word_inputs=True),
    "transformer feature": replace(TRANSFORMER, encoder="lstm"),
    "conditions": replace(TRANSFORMER, tag_head=True, tag_conditions=True, schemes=("one", "two")),
    "distances": TRANSFORMER,
}
MPNET = replace(BERT, relative_attention_num_buckets=8)
NAMES = [*CHANGES, *TRANSFORMERS]


def network_and_batch(name):
    if name in CHANGES:
        model = small_model(**CHANGES[name]).eval()
        batch = host_batch_of(TREES, with_tags=model.config.tag_size > 0)
        capitals = np.random.default_rng(0).integers(CAPITAL_CLASSES, size=(batch.size, batch.longest))
        return model, replace(batch, capitals=capitals) if model.config.tag_capitals else batch
    numericalizer = Numericalizer(VOCABULARY, characters=False, subwords=letters(80))
    model = small_model(TRANSFORMERS[name], encoder=Bert(MPNET if name == "distances" else BERT)).eval()
    if model.transformer.conditions is not None:
        for vectors in model.transformer.conditions.parameters():
            vectors.data *= 0.3
    batch = host_batch_of(TREES, numericalizer=numericalizer, with_tags=model.config.tag_conditions)
    return model, replace(batch, schemes=np.arange(batch.size) % 3) if model.config.schemes else batch


def scorer_of(model, precision):
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    encoder = model.transformer.encoder.config if model.transformer else None
    return Scorer(model.config, Weights(weights), encoder, precision=precision)


def test_absent_conditions_change_no_bit_and_given_ones_do():
    model, batch = network_and_batch("conditions")
    scorer = scorer_of(model, "int8")
    absent = replace(batch, tags=None, schemes=None)
    zeros = replace(batch, tags=np.full_like(batch.tags, UNK), schemes=np.zeros_like(batch.schemes))
    for network in (model, scorer):
        expected = network.score(absent)
        assert np.array_equal(network.score(zeros).spans, expected.spans)
        assert not np.allclose(network.score(batch).spans, expected.spans)
        assert not np.allclose(network.score(replace(batch, tags=None)).spans, expected.spans)


def root_mean_square(x):
    return float(np.sqrt(np.square(x).mean()))


def actual_scores(scorer, batch):
    """The scores of spans inside sentences, of their labels, and of tags, and the vectors of words."""
    scores = scorer.score(batch)
    size = scores.spans.shape[1]
    starts, ends = np.triu_indices(size, 1)
    is_span = (ends <= batch.lengths[:, None]).ravel()
    cells = ((np.arange(batch.size)[:, None] * size + starts) * size + ends).ravel()[is_span]
    values = [scores.spans.ravel()[cells], scores.labels_at(cells), scores.word_vectors()]
    if scores.labels is not None:
        values.append(scores.labels.reshape(size * size * batch.size, -1)[cells])
    if scores.tags is not None:
        values.append(scores.tags[np.arange(batch.longest) < batch.lengths[:, None]])
    return values


@pytest.mark.parametrize("name", NAMES)
def test_scores_in_numpy_equal_those_of_the_network(name):
    model, batch = network_and_batch(name)
    expected = actual_scores(model, batch)
    for values, expected_values in zip(actual_scores(scorer_of(model, "float32"), batch), expected, strict=True):
        np.testing.assert_allclose(values, expected_values, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("int8_support")
def test_scores_on_integers_are_close_to_those_of_the_network(name, precision):
    model, batch = network_and_batch(name)
    expected = actual_scores(model, batch)
    for values, expected_values in zip(actual_scores(scorer_of(model, precision), batch), expected, strict=True):
        assert not np.array_equal(values, expected_values)
        assert relative_error(values, expected_values) < 0.15  # 8 bits are few for random weights


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("int8_support")
def test_scores_equal_those_of_a_network_with_rounded_products(name):
    model, batch = network_and_batch(name)
    scores, expected = actual_scores(scorer_of(model, "int8"), batch), actual_scores(model, batch)
    model.round_products(True)
    share = 0.7 if model.transformer else 0.1
    for values, rounded, unrounded in zip(scores, actual_scores(model, batch), expected, strict=True):
        # the kernels approximate GELU, so some numbers of a transformer are rounded up instead of down
        assert root_mean_square(values - rounded) < share * root_mean_square(values - unrounded)


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("int8_support")
def test_the_batch_of_a_sentence_changes_no_bit_of_its_scores(name, precision):
    model, _ = network_and_batch(name)
    scorer = scorer_of(model, precision)
    numericalizer = Numericalizer(
        VOCABULARY,
        characters=model.config.char_size > 0,
        capitals=model.config.tag_capitals,
        subwords=letters(80) if model.transformer else None,
    )

    def scores_of(trees):
        return scorer.score(host_batch_of(trees, numericalizer=numericalizer, with_tags=model.config.tag_size > 0))

    together = scores_of(TREES)
    for number, tree in enumerate(TREES):
        alone, size = scores_of([tree]), len(tree.words) + 1
        starts, ends = np.triu_indices(size, 1)
        assert np.array_equal(alone.spans[0, starts, ends], together.spans[number, starts, ends])
        cells = (number * together.spans.shape[1] + starts) * together.spans.shape[1] + ends
        assert np.array_equal(alone.labels_at(starts * size + ends), together.labels_at(cells))


def test_a_batch_without_the_features_that_the_model_reads_is_an_error():
    model, batch = network_and_batch("lstm that reads tags")
    with pytest.raises(ValueError, match="the model reads part-of-speech tags and the batch has none"):
        scorer_of(model, "float32").score(replace(batch, tags=None))


PARSER_CONFIGS = {
    "transformer": ModelConfig(
        encoder="transformer", transformer="random", transformer_layers=2, span_size=30, label_size=20, tag_head=True
    ),
    "transformer with word inputs": ModelConfig(
        encoder="transformer", transformer="random", add_word_inputs=True, transformer_layers=2, span_size=30
    ),
    "distances": ModelConfig(encoder="transformer", transformer="random", transformer_layers=2, span_size=30),
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
    bert = replace(PARSER_BERT, relative_attention_num_buckets=8 if request.param == "distances" else 0)
    model = SpanModel(config, VOCABULARY.sizes, encoder=Bert(bert) if config.transformer else None).eval()
    with torch.no_grad():
        entry = [] if model.transformer is None or model.transformer.entry is None else [model.transformer.entry.weight]
        for parameter in [*model.span_scorer.parameters(), *model.label_scorer.parameters(), *entry]:
            parameter.copy_(0.3 * torch.randn_like(parameter))
    path = tmp_path_factory.mktemp("runtime") / "parser"
    Parser(model, VOCABULARY, subwords=SubwordTokenizer.load(minilm) if config.transformer else None).save(path)
    return path


def span_scores(parser):
    return parser.crf(TREES[0].words).scores


@pytest.mark.usefixtures("int8_support")
def test_a_parser_on_the_cpu_scores_on_integers_by_default(folder):
    default, int8_parser = Parser.load(folder, "cpu"), Parser.load(folder, "cpu", precision=DEFAULT_PRECISION)
    float_parser = Parser.load(folder, "cpu", precision="float32")
    assert isinstance(default.scorer, Scorer) and float_parser.scorer is float_parser.model
    scores, expected = span_scores(int8_parser), span_scores(float_parser)
    assert torch.equal(span_scores(default), scores) and not torch.equal(scores, expected)
    torch.testing.assert_close(scores, expected, atol=0.1 * float(expected.abs().max()), rtol=0)


def test_the_network_of_a_parser_on_integers_has_its_weights(folder):
    default, float_parser = Parser.load(folder, "cpu"), Parser.load(folder, "cpu", precision="float32")
    assert default.model is default.model
    weights = float_parser.model.state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in default.model.state_dict().items())


@pytest.mark.parametrize("precision", [None, "float32"])
def test_weights_are_saved_unchanged(folder, tmp_path, precision):
    Parser.load(folder, "cpu", precision=precision).save(tmp_path / "again")
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.usefixtures("int8_support")
def test_a_packed_parser_scores_like_the_parser(folder, tmp_path):
    state = load_parser_state(folder)
    save_parser_state(tmp_path / "packed", state, weight_step=0.0)
    packed = load_parser_state(tmp_path / "packed")
    for name, weight in state.weights.items():
        if "relative_attention_bias" in name:
            assert np.array_equal(packed.weights[name], weight)
    scores, expected = (span_scores(Parser.load(path, "cpu")) for path in (tmp_path / "packed", folder))
    torch.testing.assert_close(scores, expected, atol=0.1 * float(expected.abs().max()), rtol=0)


@pytest.mark.parametrize("f1_threshold", [0.0, 0.3])
def test_a_sentence_has_the_same_tree_in_any_batch(folder, f1_threshold):
    parser = Parser.load(folder, "cpu")
    parser.f1_threshold = f1_threshold
    sentences = [tree.words for tree in TREES] * 4
    trees = list(parser.parse_many(sentences))
    assert trees == [parser.parse(words) for words in sentences]
    assert trees == list(parser.parse_many(sentences, batch_words=20))


@pytest.mark.usefixtures("int8_support")
def test_the_size_of_a_batch_changes_no_bit_of_the_scores(folder):
    parser = Parser.load(folder, "cpu")
    words = TREES[0].words
    scores, alone = (
        np.triu(parser.scorer.score(parser.numericalizer.collate([words] * count)).spans, 1) for count in (700, 1)
    )
    assert np.array_equal(scores, np.broadcast_to(alone, scores.shape))


def test_analyses_have_the_parsed_trees(folder):
    parser = Parser.load(folder, "cpu")
    for words in [tree.words for tree in TREES[:3]]:
        analysis = parser.analyze(words, k=2)
        assert analysis.tree == parser.parse(words) and len(analysis.alternatives) <= 2


@pytest.fixture
def without_kernels(monkeypatch):
    monkeypatch.setattr(int8, "is_compiled", False)
    warn_about_missing_parts.cache_clear()
    yield
    warn_about_missing_parts.cache_clear()


@pytest.mark.usefixtures("without_kernels")
def test_a_parser_without_compiled_kernels_uses_the_network_and_warns(folder):
    with pytest.warns(RuntimeWarning, match=r"parsing is slow: treecrf was installed without .* parts \(runtime\)"):
        expected = span_scores(Parser.load(folder, "cpu", precision="float32"))
    parser = Parser.load(folder, "cpu")  # warns no more
    assert repr(parser).endswith("without compiled parts (runtime)>")
    assert torch.equal(span_scores(parser), expected)
    with pytest.raises(ValueError, match="there was no C compiler; load it with precision='float32'"):
        Parser.load(folder, "cpu", precision="int8")


@pytest.mark.usefixtures("without_kernels")
def test_a_parser_without_kernels_and_without_pytorch_uses_numpy(folder, monkeypatch):
    with pytest.warns(RuntimeWarning, match="parsing is slow"):
        expected = Parser.load(folder, "cpu", precision="float32")
    monkeypatch.setattr(scorers, "has_torch", lambda: False)
    parser = Parser.load(folder, "cpu")
    assert "float32 (NumPy)" in repr(parser)
    sentences = [tree.words for tree in TREES]
    assert list(parser.parse_many(sentences)) == list(expected.parse_many(sentences))


def test_what_needs_pytorch_says_so(folder, monkeypatch):
    monkeypatch.setattr(scorers, "has_torch", lambda: False)
    for options in ({"precision": "float32"}, {"device": "cuda"}):
        with pytest.raises(ImportError, match=r"needs PyTorch: pip install 'treecrf\[torch\]'"):
            Parser.load(folder, **{"device": "cpu", **options})


def test_an_unknown_precision_is_an_error(folder):
    with pytest.raises(ValueError, match="precision is 'half'; expected 'float32', 'float16', 'int8', 'int14' or None"):
        Parser.load(folder, "cpu", precision="half")
    with pytest.raises(ValueError, match="cannot run on 8-bit integers: it runs on cuda"):
        Parser.load(folder, "cuda", precision="int8")


@pytest.mark.usefixtures("int8_support")
def test_an_encoder_of_other_sizes_runs_in_float32(minilm, tmp_path):
    config = ModelConfig(encoder="transformer", transformer="random", transformer_layers=1, span_size=8, label_size=8)
    narrow = BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    model = SpanModel(config, VOCABULARY.sizes, encoder=Bert(narrow)).eval()
    Parser(model, VOCABULARY, subwords=SubwordTokenizer.load(minilm)).save(tmp_path / "narrow")
    assert Parser.load(tmp_path / "narrow", "cpu").scorer.precision == "float32"
    with pytest.raises(ValueError, match="cannot run on 8-bit integers: the encoder has hidden size 16"):
        Parser.load(tmp_path / "narrow", "cpu", precision="int8")


WORDS = np.array([[3, 1, 2, 0], [2, 0, 0, 0], [1, 1, 1, 1], [3, 1, 0, 0]])


LENGTHS = np.array([3, 1, 4, 2])


class CountingLstm:
    """An LSTM that counts the words it has read."""

    def __init__(self):
        self._lstm = reference.Lstm(
            Matrix(random_array(2, 12, 5)), Matrix(random_array(2, 12, 3, seed=1)), random_array(2, 12, seed=2)
        )
        self.words = 0

    def __call__(self, x, lengths):
        self.words += len(x)
        return self._lstm(x, lengths)


def char_vectors():
    lstm = CountingLstm()
    return CharVectors(Matrix(random_array(4, 5, seed=3)), lstm), lstm


def test_vectors_are_the_final_states_of_both_directions():
    vectors, lstm = char_vectors()
    embedded = random_array(4, 5, seed=3)[WORDS]
    states = lstm(embedded, LENGTHS)
    expected = [
        np.concatenate([states[word, length - 1, 0], states[word, 0, 1]]) for word, length in enumerate(LENGTHS)
    ]
    np.testing.assert_allclose(vectors(WORDS, LENGTHS), expected, rtol=1e-6)


def test_words_that_come_again_are_not_computed_again():
    vectors, lstm = char_vectors()
    first = vectors(WORDS[:3], LENGTHS[:3])
    both = vectors(WORDS[[3, 2, 1]], LENGTHS[[3, 2, 1]])
    assert lstm.words == 4
    assert np.array_equal(both[1], first[2]) and np.array_equal(both[2], first[1])
    assert not np.array_equal(both[0], first[0])  # a prefix of another word is another word


def test_a_full_cache_is_emptied(monkeypatch):
    expected = char_vectors()[0](WORDS, LENGTHS)
    monkeypatch.setattr("treecrf.network.runtime.scorer._CACHE_BYTES", 2 * (300 + 6 * 4))
    vectors, lstm = char_vectors()
    for word in (0, 1, 2, 0):
        np.testing.assert_allclose(vectors(WORDS[[word]], LENGTHS[[word]])[0], expected[word], rtol=1e-5)
    assert lstm.words == 4  # the third word emptied the cache
    vectors(WORDS[[2]], LENGTHS[[2]])
    assert lstm.words == 4
    for _ in range(2):  # more words than the cache holds
        np.testing.assert_allclose(vectors(WORDS, LENGTHS), expected, rtol=1e-5)
