import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nltk
import pytest
from nltk.parse.api import ParserI
from nltk.tree import ProbabilisticTree

from small import random_parser
from toygrammar import toy_trees
from treecrf.integrations.nltk import NLTKParser
from treecrf.parser import Parser
from treecrf.text import tokenize
from treecrf.trees.tree import Tree

TREES = toy_trees(40, seed=4)
SENTENCES = [tree.words for tree in TREES]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(TREES, tag_head=True)


@pytest.fixture(scope="module")
def nltk_parser(parser: Parser) -> NLTKParser:
    return NLTKParser(parser)


def our_trees(trees: Any) -> list[Tree]:
    return [Tree.from_nltk(tree) for tree in trees]


def test_it_has_the_interface_of_nltk_parsers(nltk_parser: NLTKParser) -> None:
    assert isinstance(nltk_parser, ParserI)
    tree = nltk_parser.parse_one(SENTENCES[0])
    assert isinstance(tree, nltk.Tree)
    assert isinstance(tree, ProbabilisticTree)
    assert tree.leaves() == SENTENCES[0]


@pytest.mark.parametrize("words", SENTENCES[:10], ids=" ".join)
def test_without_k_there_is_one_tree_which_equals_parse(
    nltk_parser: NLTKParser, parser: Parser, words: list[str]
) -> None:
    analysis = parser.analyze(words)
    (tree,) = nltk_parser.parse(words)
    assert Tree.from_nltk(tree) == analysis.tree
    assert tree.logprob() * math.log(2) == pytest.approx(analysis.log_prob)
    assert tree.prob() == pytest.approx(math.exp(analysis.log_prob))
    assert our_trees(nltk_parser.parse_all(words)) == our_trees([nltk_parser.parse_one(words)]) == [analysis.tree]


def test_with_k_the_most_probable_trees_are_in_order(parser: Parser) -> None:
    words = SENTENCES[0]
    trees = NLTKParser(parser, k=5).parse_all(words)
    expected = sorted(parser.analyze(words, k=5).alternatives, key=lambda alternative: -alternative.log_prob)
    assert our_trees(trees) == [alternative.tree for alternative in expected]
    assert [tree.prob() for tree in trees] == pytest.approx(
        [math.exp(alternative.log_prob) for alternative in expected]
    )
    assert [tree.prob() for tree in trees] == sorted([tree.prob() for tree in trees], reverse=True)
    assert our_trees([NLTKParser(parser, k=5).parse_one(words)]) == [expected[0].tree]


def test_sentences_keep_their_order_and_empty_sentences_have_no_trees(nltk_parser: NLTKParser, parser: Parser) -> None:
    sentences = [[], SENTENCES[0], "", *SENTENCES[1:], []]
    results = [our_trees(trees) for trees in nltk_parser.parse_sents(sentences)]
    assert results == [[parser.parse(words)] if words else [] for words in sentences]
    assert list(nltk_parser.parse_sents([])) == []
    assert nltk_parser.parse_one([]) is None
    assert nltk_parser.parse_all("  ") == []


def test_sentences_are_read_in_windows(nltk_parser: NLTKParser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.integrations.nltk._WINDOW", 4)
    read: list[list[str]] = []

    def stream() -> Iterator[list[str]]:
        for words in SENTENCES:
            read.append(words)
            yield words

    trees = nltk_parser.parse_sents(stream())
    assert read == []
    assert [next(next(trees)).leaves() for _ in range(4)] == SENTENCES[:4]
    assert len(read) == 4
    assert [tree.leaves() for (tree,) in trees] == SENTENCES[4:]


def test_given_tags_are_in_the_tree_and_others_are_predicted(nltk_parser: NLTKParser, parser: Parser) -> None:
    words = SENTENCES[0]
    assert nltk_parser.parse_one([(word, "X") for word in words]).pos() == [(word, "X") for word in words]
    tree = nltk_parser.parse_one([(words[0], "X"), *((word, None) for word in words[1:])])
    assert [tag for _, tag in tree.pos()] == ["X", *parser.parse(words).tags[1:]]


def test_raw_text_and_tokens_are_parsed(nltk_parser: NLTKParser, parser: Parser) -> None:
    text = "She doesn't like (small) walls."
    assert our_trees(nltk_parser.parse(text)) == our_trees(nltk_parser.parse(tokenize(text))) == [parser.parse(text)]


def test_a_single_word_may_have_a_tree_without_a_root() -> None:
    parser = random_parser([*TREES, Tree.parse("(UH yes)")], tag_head=True)
    (tree,) = NLTKParser(parser, k=100).parse_all(["cat"])  # brackets over one word are no other reading
    assert tree.leaves() == ["cat"]
    assert Tree.parse("(UH yes)").to_nltk().height() == 2


def test_trees_of_long_sentences_have_finite_log_probabilities(nltk_parser: NLTKParser) -> None:
    (tree,) = nltk_parser.parse(["cat", "slept"] * 150)
    assert -math.inf < tree.logprob() < 0


def test_trees_can_be_printed_copied_and_frozen(nltk_parser: NLTKParser) -> None:
    tree = nltk_parser.parse_one(SENTENCES[0])
    assert str(tree).endswith(f"(p={tree.prob():.6g})")
    assert nltk.Tree.fromstring(str(nltk.Tree.convert(tree))) == nltk.Tree.convert(tree)
    assert tree.copy() == tree
    assert hash(tree.freeze())
    assert tree.productions()


@pytest.mark.parametrize("invalid", [["a", ("cat", "NN")], [1, 2], [("a", "DT", "x")], [("a", 3)], [["a", "DT"]]])
def test_invalid_sentences_are_an_error(nltk_parser: NLTKParser, invalid: list[Any]) -> None:
    with pytest.raises(TypeError, match=r"sentence 1 is .*; expected words, \(word, tag\) pairs, or a string"):
        list(nltk_parser.parse_sents([["a", "cat"], invalid]))


def test_a_model_that_reads_tags_needs_them() -> None:
    nltk_parser = NLTKParser(random_parser(TREES, tag_size=8))
    assert nltk_parser.parse_one([("a", "DT"), ("cat", "NN")]).pos() == [("a", "DT"), ("cat", "NN")]
    assert nltk_parser.parse_one([]) is None
    for untagged in (["a", "cat"], [("a", "DT"), ("cat", None)]):
        with pytest.raises(
            ValueError, match=r"sentence 2 lacks tags and the model reads them; give \(word, tag\) pairs"
        ):
            list(nltk_parser.parse_sents([[("a", "DT")], [], untagged]))


def test_there_is_no_grammar(nltk_parser: NLTKParser) -> None:
    with pytest.raises(NotImplementedError, match="a neural parser has no grammar"):
        nltk_parser.grammar()


def test_k_must_be_positive(parser: Parser) -> None:
    with pytest.raises(ValueError, match="k is 0; expected 1 or more trees"):
        NLTKParser(parser, k=0)


def test_a_model_is_loaded_from_its_folder(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "model")
    loaded = NLTKParser(tmp_path / "model", device="cpu", mbr=False, batch_words=10)
    assert [our_trees(trees) for trees in loaded.parse_sents(SENTENCES)] == [
        [tree] for tree in Parser.load(tmp_path / "model", "cpu").parse_many(SENTENCES, mbr=False)
    ]
