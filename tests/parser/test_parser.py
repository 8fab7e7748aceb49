import json
import math
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from small import random_parser
from toygrammar import toy_trees
from treecrf.files import DamagedFileError
from treecrf.network.data.batch import Batch
from treecrf.network.nn import SpanModel
from treecrf.network.nn.model import use_one_torch_thread
from treecrf.network.runtime.int8 import instruction_set
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.device_pipeline import DeviceDecoder
from treecrf.parser.inputs import DEFAULT_BATCHING
from treecrf.parser.models.model_folder import MANIFEST, load_folder, save_folder
from treecrf.parser.pipeline import BatchDecoder
from treecrf.parser.storage import CONFIG, VOCABULARY, WEIGHTS
from treecrf.text import tokenize
from treecrf.threads import num_threads, parallel_map, set_num_threads
from treecrf.training.checkpoint import to_safetensors
from treecrf.trees.search import Pattern
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.well_formed import count_productions

TREES = toy_trees(40, seed=3)
SENTENCES = [tree.words for tree in TREES]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(TREES)


@pytest.fixture
def folder(parser: Parser, tmp_path: Path) -> Path:
    parser.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_tree_has_the_words_of_its_sentence(parser: Parser) -> None:
    tree = parser.parse(["every", "unheard-of", "(", "cat"])
    assert tree.label == "TOP"
    assert tree.words == ["every", "unheard-of", "(", "cat"]
    assert tree.tags == ["_"] * 4


def test_random_weights_give_more_than_one_kind_of_tree(parser: Parser) -> None:
    labels = {span.label for tree in parser.parse_many(SENTENCES) for span in tree.spans()}
    assert len(labels) > 3


@pytest.fixture(scope="module")
def alone(parser: Parser) -> dict[tuple[str, ...], Tree]:
    return {tuple(words): parser.parse(words) for words in SENTENCES}


def device_decoder(parser: Parser) -> DeviceDecoder:
    """The decoder of a GPU, with the parser's network on its own device."""
    host_decoder = BatchDecoder(scorer=parser.batch_scorer, mbr=True, expected_f1=parser.expected_f1)
    return DeviceDecoder(model=parser.model, host_decoder=host_decoder)


@pytest.mark.parametrize("tag_head", [False, True])
def test_a_batch_that_does_not_fit_into_memory_is_parsed_in_halves(
    tag_head: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = random_parser(TREES, tag_head=tag_head)
    expected = list(parser.parse_many(SENTENCES))
    score, sizes = SpanModel.score_on_device, []

    def with_little_memory(self: SpanModel, batch: Batch) -> object:
        sizes.append(batch.size)
        if batch.size > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return score(self, batch)

    monkeypatch.setattr(SpanModel, "score_on_device", with_little_memory)
    decoder = device_decoder(parser)
    window = parser.reader.window(SENTENCES)
    assert list(parser._build_trees(window, decoder(window)())) == expected
    assert max(sizes) > 6


@pytest.mark.parametrize("model", [{}, {"tag_head": True}, {"loss": "one-stage-crf"}, {"loss": "one-stage-margin"}])
@pytest.mark.parametrize("threshold", [0.0, 0.4])
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("part", ["span_scorer", "label_scorer"])
def test_scores_of_a_gpu_that_are_not_finite_are_an_error(
    model: dict[str, object], threshold: float, value: float, part: str
) -> None:
    parser = random_parser(TREES, **model)
    parser.f1_threshold = threshold
    parser.productions = count_productions(TREES)
    window = parser.reader.window(SENTENCES[:5])
    decoder = device_decoder(parser)
    trees = list(parser._build_trees(window, decoder(window)()))
    assert trees == list(parser.parse_many(SENTENCES[:5]))
    if scorer := getattr(parser.model, part):
        with torch.no_grad():
            scorer.weight[..., -1, -1] = value
        pending = decoder(window)  # the device is not synchronized
        with pytest.raises(ValueError, match="the model computes scores that are not finite numbers"):
            pending()
        with pytest.raises(ValueError, match="the model computes scores that are not finite numbers"):
            list(parser.parse_many(SENTENCES[:5]))


def test_a_sentence_that_does_not_fit_into_memory_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = random_parser(TREES)

    def without_memory(self: SpanModel, batch: Batch) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(SpanModel, "score_on_device", without_memory)
    decoder = device_decoder(parser)
    with pytest.raises(
        ValueError, match=r"a sentence of 3 words does not fit into the GPU's memory; parse it on a CPU"
    ):
        decoder(parser.reader.window([["a", "b", "c"]]))


def test_torch_uses_one_thread_in_the_threads_of_a_parser_and_as_many_as_before_elsewhere() -> None:
    set_num_threads(2)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    both_threads = threading.Barrier(2)  # a thread that started later would still change torch's number for a moment

    def count_torch_threads(_: int) -> int:
        both_threads.wait(timeout=60)
        return torch.get_num_threads()

    numbers = set(parallel_map(count_torch_threads, range(2), initialize=use_one_torch_thread))
    new_thread = threading.Thread(target=lambda: numbers.add(torch.get_num_threads()))
    new_thread.start()
    new_thread.join()
    assert numbers == {1, 2} and torch.get_num_threads() == 2
    torch.set_num_threads(before)


def test_a_document_becomes_a_tree_for_each_sentence(parser: Parser) -> None:
    text = "The cat sat.\n\nShe saw\nhim (again)."
    first, second = parser.parse_text(text)
    assert (
        text[first.start : first.end] == "The cat sat." and text[second.start : second.end] == "She saw\nhim (again)."
    )
    assert second.tree.words == [token.text for token in second.tokens] == ["She", "saw", "him", "(", "again", ")", "."]
    assert all(text[token.start : token.end] == token.text for token in second.tokens)
    assert first.tree == parser.parse("The cat sat.") and list(parser.parse_text("")) == []


def test_a_string_of_two_sentences_or_of_another_language_warns(parser: Parser) -> None:
    with pytest.warns(UserWarning, match=r"the string has two sentences and becomes one tree; parse_text\(\)"):
        parser.parse("The cat sat. She saw him.")
    with pytest.warns(UserWarning, match="looks Chinese, and the model reads English"):
        parser.parse("我們昨天在學校看見他")


def test_a_string_in_place_of_sentences_is_an_error(parser: Parser) -> None:
    for method in (parser.parse_many, parser.brackets_many, parser.analyze_many):
        with pytest.raises(TypeError, match=r"expected a list of sentences, or parse_text\(\) for a document"):
            next(method("The cat sat."))


@settings(max_examples=20)
@given(st.permutations(SENTENCES), st.integers(1, 200))
def test_trees_come_in_order_whatever_the_batches(
    parser: Parser, alone: dict[tuple[str, ...], Tree], sentences: list[list[str]], batch_words: int
) -> None:
    together = list(parser.parse_many(sentences, batch_words=batch_words))
    assert together == [alone[tuple(words)] for words in sentences]


def test_sentences_are_read_on_demand(parser: Parser) -> None:
    read = 0

    def stream() -> Iterator[list[str]]:
        nonlocal read
        for words in SENTENCES:
            read += 1
            yield words

    trees = parser.parse_many(stream(), window=4)
    assert read == 0
    assert [next(trees).words for _ in range(4)] == SENTENCES[:4]
    assert read == 4
    assert [tree.words for tree in trees] == SENTENCES[4:]


def test_mbr_differs_from_the_best_tree(parser: Parser) -> None:
    assert list(parser.parse_many(SENTENCES)) != list(parser.parse_many(SENTENCES, mbr=False))


def test_given_tags_appear_in_the_tree(parser: Parser) -> None:
    tags = [tree.tags for tree in TREES]
    assert [tree.tags for tree in parser.parse_many(SENTENCES, tags=tags)] == tags


def test_a_tag_head_tags_and_given_tags_come_first() -> None:
    tagger = random_parser(TREES, tag_head=True)
    trees = list(tagger.parse_many(SENTENCES))
    assert {tag for tree in trees for tag in tree.tags} <= set(tagger.vocabulary.tags)
    assert len({tag for tree in trees for tag in tree.tags}) > 1
    tags = [tree.tags for tree in TREES]
    assert [tree.tags for tree in tagger.parse_many(SENTENCES, tags=tags)] == tags


def test_words_and_sentences_without_a_tag_get_the_predicted_one() -> None:
    tagger = random_parser(TREES, tag_head=True)
    words = SENTENCES[0]
    predicted = tagger.parse(words).tags
    some, none = tagger.parse_many([words, words], tags=[["X", *[None] * (len(words) - 1)], None])
    assert some.tags == ["X", *predicted[1:]]
    assert none.tags == predicted
    assert random_parser(TREES).parse(["a", "cat"], tags=[None, "NN"]).tags == ["_", "NN"]


def test_a_model_with_tag_input_uses_tags_and_requires_them() -> None:
    reader = random_parser(TREES, tag_size=8)
    words = SENTENCES[1]
    assert reader.parse(words, tags=["NN"] * len(words)).spans() != reader.parse(words, tags=["."] * len(words)).spans()
    with pytest.raises(ValueError, match="sentence 0 has no tags and the model reads them"):
        reader.parse(words)
    with pytest.raises(ValueError, match="sentence 0 has no tag for word 1 and the model reads them"):
        reader.parse(["a", "cat"], tags=["DT", None])


@pytest.mark.parametrize(
    ("sentences", "tags", "error", "message"),
    [
        ([["a"], []], None, ValueError, "sentence 1 has no words"),
        ([["a"], ["b", 7]], None, TypeError, "sentence 1 has a word that is not a string: .* int found"),
        (["a cat", " \t"], None, ValueError, "sentence 1 has no words"),
        ([["a"]], [["DT", "NN"]], ValueError, "sentence 0 has 1 words and 2 tags"),
        ([["a"], ["b"]], [["DT"]], ValueError, "shorter"),
    ],
)
def test_bad_sentences_are_errors_with_their_number(
    parser: Parser, sentences: list[list[str]], tags: list[list[str]], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        list(parser.parse_many(sentences, tags=tags))


def test_parsing_leaves_no_gradients_and_no_dropout(parser: Parser) -> None:
    parser.model.train()
    first, second = (list(parser.parse_many(SENTENCES)) for _ in range(2))
    assert first == second and not parser.model.training
    assert all(parameter.grad is None for parameter in parser.model.parameters())


@pytest.mark.parametrize(
    "model", [{}, {"scorer": "minus", "loss": "one-stage-crf"}, {"tag_head": True, "char_size": 0}]
)
def test_a_saved_parser_is_the_same_parser(tmp_path: Path, model: dict[str, object]) -> None:
    parser = random_parser(TREES, **model)
    parser.root = "ROOT"
    parser.save(tmp_path)
    loaded = Parser.load(tmp_path, device="cpu", precision="float32")
    assert loaded.root == "ROOT" and loaded.vocabulary == parser.vocabulary
    assert loaded.model.config == parser.model_config
    weights, old = loaded.model.state_dict(), parser.model.state_dict()
    assert weights.keys() == old.keys() and all(torch.equal(weights[name], old[name]) for name in old)
    assert not any(tensor.is_meta for tensor in (*loaded.model.parameters(), *loaded.model.buffers()))
    assert list(loaded.parse_many(SENTENCES)) == list(parser.parse_many(SENTENCES))


def test_saving_twice_gives_the_same_bytes(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "a")
    Parser.load(tmp_path / "a", device="cpu").save(tmp_path / "b")
    assert load_folder(tmp_path / "a") == load_folder(tmp_path / "b")


def test_an_8_bit_parser_is_saved_with_its_settings_and_the_weights_it_was_loaded_with(
    folder: Path, tmp_path: Path
) -> None:
    parser = Parser.load(folder, device="cpu", precision="int8")
    parser.root = "ROOT"
    parser.save(tmp_path / "a")
    before, after = load_folder(folder), load_folder(tmp_path / "a")
    assert after[WEIGHTS] == before[WEIGHTS] and Parser.load(tmp_path / "a", device="cpu").root == "ROOT"
    random_parser(TREES, lstm_size=8).save(folder)
    with pytest.raises(ValueError, match="model has changed since the parser was loaded from it"):
        parser.save(tmp_path / "b")
    with pytest.raises(ValueError, match="model has changed since the parser was loaded from it"):
        _ = parser.model
    assert not (tmp_path / "b").exists()


def test_a_network_that_names_another_precision_is_saved_without_its_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = Parser.load(folder, device="cpu", precision="float32")
    monkeypatch.setattr(SpanModel, "precision", "bfloat16")
    with torch.no_grad():
        parser.model.span_scorer.weight.zero_()
    parser.save(tmp_path / "a")
    assert not Parser.load(tmp_path / "a", "cpu", precision="float32").model.span_scorer.weight.any()


def test_half_precision_weights_are_read(parser: Parser, folder: Path) -> None:
    files = load_folder(folder)
    half = {name: tensor.half() for name, tensor in parser.model.state_dict().items()}
    save_folder(folder, files | {WEIGHTS: to_safetensors(half)})
    loaded = Parser.load(folder, device="cpu")
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, VOCABULARY])
@pytest.mark.parametrize("place", [0, 0.3, 1])
def test_a_changed_file_is_refused(folder: Path, name: str, place: float) -> None:
    data = bytearray((folder / name).read_bytes())
    data[int(place * (len(data) - 1))] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(DamagedFileError, match=rf"{name} was cut short or changed"):
        Parser.load(folder)


@pytest.mark.parametrize("kept", [0, 7, 1000, -1])
def test_a_truncated_weight_file_is_refused(folder: Path, kept: int) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:kept])
    with pytest.raises(DamagedFileError, match="was cut short or changed"):
        Parser.load(folder)


def test_weights_of_another_model_are_refused_even_with_a_manifest(folder: Path, tmp_path: Path) -> None:
    random_parser(TREES, lstm_size=8).save(tmp_path / "other")
    save_folder(folder, load_folder(folder) | {WEIGHTS: (tmp_path / "other" / WEIGHTS).read_bytes()})
    with pytest.raises(
        DamagedFileError, match=r"not contain the weights .* has shape .*, expected .*; \d+ of \d+ differ"
    ):
        Parser.load(folder)


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_weights_are_taken_by_name_one_for_one(parser: Parser, folder: Path, change: str) -> None:
    weights = dict(parser.model.state_dict())
    if change == "missing":
        del weights["span_scorer.weight"]
    else:
        weights["backdoor"] = torch.zeros(1)
    save_folder(folder, load_folder(folder) | {WEIGHTS: to_safetensors(weights)})
    with pytest.raises(DamagedFileError, match=r"does not contain the weights of this model: .* none"):
        Parser.load(folder)


def test_cut_weights_are_refused_even_with_a_manifest(folder: Path) -> None:
    files = load_folder(folder)
    save_folder(folder, files | {WEIGHTS: files[WEIGHTS][:-8]})
    with pytest.raises(DamagedFileError, match="cannot be read as safetensors"):
        Parser.load(folder)


class Bomb:
    """What a pickle runs when it is read."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('code from the folder was run')",)


@pytest.mark.parametrize("name", [WEIGHTS, VOCABULARY, CONFIG])
def test_a_pickle_in_the_place_of_a_file_is_refused_and_never_run(folder: Path, name: str) -> None:
    save_folder(folder, load_folder(folder) | {name: pickle.dumps(Bomb())})
    with pytest.raises(ValueError, match=name):
        Parser.load(folder)


def test_other_files_in_the_folder_are_never_touched(folder: Path) -> None:
    for name in ("model.py", "__init__.py", "conftest.py", "modeling.py"):
        (folder / name).write_text("raise SystemExit('code from the folder was run')")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))
    assert Parser.load(folder, device="cpu").parse(["a", "cat"]).words == ["a", "cat"]


@pytest.mark.parametrize(
    "vocabulary", ["[]", "{}", '{"words": 3}', "null", "nonsense", json.dumps({"words": [], "labels": []})]
)
def test_what_is_no_vocabulary_is_refused(folder: Path, vocabulary: str) -> None:
    save_folder(folder, load_folder(folder) | {VOCABULARY: vocabulary.encode()})
    with pytest.raises(DamagedFileError, match=r"vocabulary\.json is not (a vocabulary|JSON)"):
        Parser.load(folder)


def test_a_folder_without_a_parser_is_an_error(tmp_path: Path) -> None:
    save_folder(tmp_path, {"notes.txt": b"hello"})
    with pytest.raises(DamagedFileError, match=rf"is not a parser: its manifest has no {CONFIG}"):
        Parser.load(tmp_path)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(OSError, match="holds no model"):
        Parser.load(tmp_path)


def test_an_unknown_model_name_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="there is no model 'klingon'"):
        Parser.load("klingon")


def test_a_string_is_raw_text_and_a_list_its_words(parser: Parser) -> None:
    text = "We didn't see (every) cat."
    tree = parser.parse(text)
    assert tree.words == ["We", "did", "n't", "see", "(", "every", ")", "cat", "."]
    tokens = tokenize(text)
    assert parser.parse(tokens) == tree
    read = parser.parse([token.word for token in tokens])  # the model reads what a treebank writes
    assert read.words[4] == "-LRB-" and read.spans() == tree.spans()
    assert list(parser.parse_many([text, ["a cat"]]))[1].words == ["a cat"]
    assert parser.analyze(text).tree == tree
    assert torch.equal(parser.crf(text).scores, parser.crf(tokens).scores)


def test_the_language_of_raw_text_is_saved(tmp_path: Path) -> None:
    parser = random_parser(TREES)
    parser.language = "zh"
    parser.save(tmp_path)
    loaded = Parser.load(tmp_path, device="cpu")
    assert loaded.language == "zh" and loaded.parse("我喜欢花园。").words == [
        token.text for token in tokenize("我喜欢花园。", language="zh")
    ]


ODD = [
    *["", " ", "\t", "\u200b", "\u200d\ufeff", "\xa0", "\u3000", "\u2028", "\n", "\x00", "\x1b[31m", "\x7f\x85"],
    *[
        "(",
        ")",
        "-LRB-",
        "\\u{28}",
        "😀",
        "👩‍👩‍👧‍👦",
        "🇫🇷",
        "مرحبا",
        "שלום",
        "\u202eabc\u202c",
        "e\u0301\u0327",
        "ﬃ",
        "İ",
        "x" * 5000,
    ],
]


@settings(max_examples=40)
@given(st.lists(st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=8)), min_size=1, max_size=9), max_size=6))
def test_any_words_are_parsed_and_unchanged(parser: Parser, sentences: list[list[str]]) -> None:
    trees = list(parser.parse_many(sentences))
    assert [tree.words for tree in trees] == sentences
    assert [Tree.parse(str(tree)) for tree in trees] == trees
    assert trees == [parser.parse(words) for words in sentences]


def test_a_thousand_words_are_a_sentence(parser: Parser) -> None:
    words = [word for sentence in SENTENCES for word in sentence] * 4
    assert len(words) > 1000
    trees = list(parser.parse_many([words[:1000], *SENTENCES[:3]]))
    assert [tree.words for tree in trees] == [words[:1000], *SENTENCES[:3]]


@pytest.mark.parametrize("model", [{}, {"loss": "one-stage-crf", "tag_head": True}, {"loss": "one-stage-margin"}])
def test_batches_change_no_tree(model: dict[str, object]) -> None:
    parser = random_parser(TREES, **model)
    sentences = [tree.words for tree in toy_trees(150, seed=11)]
    alone = [parser.parse(words) for words in sentences]
    for batch_words in (50, 400, 100_000):
        assert list(parser.parse_many(sentences, batch_words=batch_words)) == alone


def test_threads_share_a_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.network.data.numericalize._CACHE_BYTES", 5000)  # so that the cache is cleared often
    parser = random_parser(TREES, tag_head=True)
    sentences = [[*tree.words, f"new{number}"] for number, tree in enumerate(toy_trees(64, seed=2))]
    expected = list(parser.parse_many(sentences))
    together = threading.Barrier(32)

    def work(number: int) -> list[Tree]:
        together.wait()
        mine = sentences[number:] + sentences[:number]
        found = [parser.parse(words) for words in mine[:8]]
        found += [analysis.tree for analysis in parser.analyze_many(mine[8:16], k=1)]
        found += list(parser.parse_many(mine[16:40], batch_words=100))
        found += map(Tree.parse, parser.brackets_many(mine[40:], window=8))
        return found[len(sentences) - number :] + found[: len(sentences) - number]

    with ThreadPoolExecutor(32) as pool:
        assert all(found == expected for found in pool.map(work, range(32)))


def test_a_one_word_sentence_is_a_tree(parser: Parser) -> None:
    assert isinstance(parser.parse(["cat"]), Tree)


@pytest.mark.parametrize("model", [{}, {"tag_head": True}, {"loss": "one-stage-margin"}])
def test_brackets_are_those_of_the_trees(model: dict[str, object]) -> None:
    parser = random_parser(TREES, **model)
    parser.root = "(ROOT"
    sentences = [*SENTENCES, ["("], ["\x85", "a b", "\ud800"], *map(tokenize, ["(Ada) sang.", "Well."])]
    trees = list(map(str, parser.parse_many(sentences)))
    assert list(parser.brackets_many(sentences, batch_words=50, window=7)) == trees
    shown = [line.replace(r"\u{28}", "-LRB-").replace(r"\u{29}", "-RRB-") for line in trees]
    assert list(parser.brackets_many(sentences, exact=False)) == shown
    windows = [sentences[:9], [], sentences[9:], []]
    keys = ["a", None, 3, "a"]
    keyed = list(parser.brackets_by_key(zip(keys, windows, strict=True)))
    assert keyed == list(zip(keys, [trees[:9], [], trees[9:], []], strict=True))


def test_brackets_have_given_tags_and_meet_constraints(parser: Parser) -> None:
    tags = [[None, *tree.tags[1:]] for tree in TREES]
    constraints = [Constraints(require=[(1, 3)]) if len(tree.words) > 3 else None for tree in TREES]
    options = {"tags": tags, "constraints": constraints}
    expected = list(map(str, parser.parse_many(SENTENCES, **options)))
    assert list(parser.brackets_many(SENTENCES, **options)) == expected
    assert list(parser.brackets_many(SENTENCES, tags=tags)) != expected


@pytest.mark.parametrize("prefetch", [0, 1, 2, 50])
def test_batches_of_a_gpu_may_be_prefetched(parser: Parser, prefetch: int) -> None:
    expected = list(parser.parse_many(SENTENCES))
    batching = replace(DEFAULT_BATCHING["cuda"], prefetch=prefetch, batch_words=30)
    windows = [parser.reader.window(words) for words in ([], SENTENCES[:5], [], SENTENCES[5:])]
    decoded = device_decoder(parser).decode_windows(enumerate(windows), parser._build_trees, batching)
    assert list(decoded) == list(enumerate([[], expected[:5], [], expected[5:]]))


def test_windows_and_batches_have_at_least_one_sentence(parser: Parser) -> None:
    with pytest.raises(ValueError, match="window is 0 sentences"):
        next(parser.parse_many(SENTENCES, window=0))
    with pytest.raises(ValueError, match="a batch of 0 words"):
        next(parser.parse_many(SENTENCES, batch_words=0))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("model", [{}, {"tag_head": True}, {"loss": "one-stage-crf"}])
def test_batches_do_not_synchronize_the_device(model: dict[str, object]) -> None:
    parser = random_parser(TREES, **model)
    parser.model.cuda()
    expected = list(parser.brackets_many(SENTENCES, batch_words=50))  # compiles kernels, and may synchronize
    torch.cuda.set_sync_debug_mode("error")
    try:
        assert list(parser.brackets_many(SENTENCES, batch_words=50)) == expected
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_parser_says_how_it_computes(folder: Path) -> None:
    exact = Parser.load(folder, device="cpu", precision="float32")
    assert repr(exact) == f"<Parser: lstm, en, cpu, float32, {num_threads()} threads>"
    default = Parser.load(folder, device="cpu")
    expected = "float32" if default.scorer is default.model else f"int8 ({instruction_set()})"
    assert expected in repr(default)


def test_samples_have_the_words_and_given_tags_of_the_sentence() -> None:
    tagger = random_parser(TREES, tag_head=True)
    words = SENTENCES[0]
    samples = tagger.sample(words, 20)
    assert len(samples) == 20 and all(tree.words == words for tree in samples)
    assert tagger.sample(words, 20) == samples
    given_tags = ["X", *[None] * (len(words) - 1)]
    assert {tree.tags[0] for tree in tagger.sample(words, 20, tags=given_tags)} == {"X"}
    (of_many,) = tagger.sample_many([words], 20)
    assert of_many.trees == samples and Tree.parse(of_many.best) == tagger.parse(words)


def test_expected_counts_weight_trees_by_their_probability(parser: Parser) -> None:
    words = SENTENCES[0][:3]
    alternatives = parser.analyze(words, k=200).alternatives
    count = parser.expected_count("NP", words, samples=2000)
    pattern = Pattern("NP")
    exact = sum(pattern.count(best.tree).matches * math.exp(best.log_prob) for best in alternatives)
    assert sum(math.exp(best.log_prob) for best in alternatives) > 0.99
    assert count.mean == pytest.approx(exact, abs=0.1)
    assert count.mean_low <= count.mean <= count.mean_high and count.samples == 2000


def test_no_samples_are_refused(parser: Parser) -> None:
    with pytest.raises(ValueError, match="the number of samples is 0"):
        parser.sample(["a"], 0)
