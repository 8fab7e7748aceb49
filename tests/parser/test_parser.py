import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from project_models import model_folder
from small import random_parser
from toygrammar import toy_trees
from treecrf.network.runtime.int8 import instruction_set
from treecrf.network.runtime.scorer import DEFAULT_PRECISION
from treecrf.parser import Parser
from treecrf.text import tokenize
from treecrf.threads import num_threads
from treecrf.trees.tree import Tree

TREES = toy_trees(40, seed=3)
SENTENCES = [tree.words for tree in TREES]


def test_a_tree_has_the_words_of_its_sentence(parser: Parser) -> None:
    tree = parser.parse(["every", "unheard-of", "(", "cat"])
    assert tree.label == "TOP"
    assert tree.words == ["every", "unheard-of", "(", "cat"]
    assert tree.tags == ["_"] * 4


def test_random_weights_give_more_than_one_kind_of_tree(parser: Parser) -> None:
    labels = {span.label for tree in parser.parse_many(SENTENCES) for span in tree.spans()}
    assert len(labels) > 3


def test_a_document_becomes_a_tree_for_each_sentence(parser: Parser) -> None:
    text = "The cat sat.\n\nShe saw\nhim (again)."
    first, second = parser.parse_text(text)
    assert (
        text[first.start : first.end] == "The cat sat." and text[second.start : second.end] == "She saw\nhim (again)."
    )
    assert (first.text, second.text) == ("The cat sat.", "She saw\nhim (again).")
    assert second.tree.words == ["She", "saw", "him", "(", "again", ")", "."]
    assert [text[start:end] for start, end in second.offsets] == second.tree.words
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


def test_mbr_differs_from_the_best_tree(parser: Parser) -> None:
    assert list(parser.parse_many(SENTENCES)) != list(parser.parse_many(SENTENCES, mbr=False))


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
        ([["a"], ["b", 7]], None, TypeError, "sentence 1 has a word that is not a string: 7$"),
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


@pytest.mark.filterwarnings("ignore:sentence .* has words like sentences")
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


def test_a_parser_says_how_it_computes(folder: Path) -> None:
    exact = Parser.load(folder, device="cpu", precision="float32")
    assert repr(exact) == f"<Parser: lstm, en, cpu, float32, {num_threads()} threads>"
    default = Parser.load(folder, device="cpu")
    expected = "float32" if default.scorer is default.model else f"{DEFAULT_PRECISION} ({instruction_set()})"
    assert expected in repr(default)


def test_a_parser_is_called_like_a_function(parser: Parser) -> None:
    assert parser(["the", "cat"]) == parser.parse(["the", "cat"])


def test_the_default_model_is_en() -> None:
    assert Parser.load().folder == model_folder("en")


def test_a_copy_and_another_process_have_the_same_model_and_settings() -> None:
    parser = Parser.load("en", "cpu")
    parser.f1_threshold = 0.0
    words = ["The", "old", "man", "saw", "the", "girl", "with", "the", "telescope", "."]
    for other in (copy.copy(parser), pickle.loads(pickle.dumps(parser))):
        assert other.config == parser.config
        assert other.parse(words) == parser.parse(words)


def test_a_parser_without_a_folder_cannot_be_pickled(parser: Parser) -> None:
    with pytest.raises(TypeError, match="save it, and load it in each process"):
        pickle.dumps(parser)


def test_the_sentences_of_a_text_are_analyzed(parser: Parser) -> None:
    first, second = parser.analyze_text("The cat sees. A dog sees.", k=2)
    assert (first.text, second.text) == ("The cat sees.", "A dog sees.")
    assert second.analysis is not None and second.analysis.tree == second.tree
    assert second.tree == parser.parse("A dog sees.")


@pytest.mark.parametrize(
    ("sentence", "tags", "constituent"),
    [
        ("The complex houses married and single soldiers .", "DT NN VBZ JJ CC JJ NNS .", "(VP (VBZ houses) (NP"),
        ("The old man the boat .", "DT JJ VBP DT NN .", "(VP (VBP man) (NP"),
        ("I saw her duck .", "PRP VBD PRP VB .", "(S (NP (PRP her)) (VP (VB duck)))"),
    ],
)
def test_given_tags_lead_english_down_the_garden_path(sentence: str, tags: str, constituent: str) -> None:
    assert constituent in str(Parser.load("en", "cpu").parse(sentence.split(), tags=tags.split()))


def test_a_tree_has_no_labels_of_another_scheme() -> None:
    words = ["The", "bar", "code", "scanner", "reads", "the", "high", "school", "teacher", "'s", "name"]
    labels = {
        scheme: {node.label for node in Parser.load("en", "cpu", scheme=scheme).parse(words).walk()}
        for scheme in ("masc", "gum", "genia")
    }
    assert {scheme for scheme, found in labels.items() if "NML" in found} == {"masc"}


def test_a_scheme_may_have_rules_without_vectors() -> None:
    pytest.importorskip("treecrf_is")
    words = ["Grímsey", "liggur", "rétt", "við", "Tjörnesbrotabeltið", "."]
    trees = {scheme: Parser.load("is", "cpu", scheme=scheme).parse(words) for scheme in ("icepahc", "greynir")}
    assert not Parser.load("is", "cpu").model_config.schemes
    assert trees["icepahc"].tags == ["NPR-N", "VBPI", "ADV", "P", "NPR-A", "."]
    assert all(tag.islower() for tag in trees["greynir"].tags)


def test_a_scheme_changes_trees_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    parser = Parser.load("en", "cpu", scheme="gum")
    words = ["However", ",", "I", "believe", ",", "the", "semi-final", "is", "lost", "."]
    assert parser.scheme == "gum" and parser.scheme in parser.schemes
    assert parser.log_prob(parser.parse(words)) != Parser.load("en", "cpu").log_prob(parser.parse(words))
    parser.save(tmp_path / "saved")
    assert Parser.load(tmp_path / "saved", "cpu").parse(words) == parser.parse(words)
    with pytest.raises(ValueError, match="scheme is 'ptb'; expected one of 'masc', 'mctb', 'gum'"):
        Parser.load("en", "cpu", scheme="ptb")
