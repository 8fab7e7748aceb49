"""The words that a parser finds in characters."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import random_bert_parser, random_parser
from treecrf.parser import Parser
from treecrf.parser.decoding.schemes import scheme_arrays
from treecrf.parser.segmentation import CHARACTERS, character_tree, join_characters
from treecrf.text import Token, sentences
from treecrf.trees.tree import Tree

WORDS = ["私", "は", "猫", "です", "DNA", "（", "昨日", "、"]


def characters(text: str) -> list[Token]:
    (tokens,) = sentences(text, language="ja", in_characters=True)
    return tokens


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_word_starts_at_each_tag_that_is_not_next(length: int) -> None:
    text = "私は猫だ"[:length]
    for tags in product(["FIRST", "NEXT", "N"], repeat=length):
        words = [token.text for token in join_characters(text, characters(text), tags)]
        marked = text[0] + "".join(
            ("" if tag == "NEXT" else "|") + char for char, tag in zip(text[1:], tags[1:], strict=True)
        )
        assert words == marked.split("|")


def test_white_space_always_separates_words_and_no_characters_are_no_words() -> None:
    text = "私 は"
    assert [token[1:3] for token in join_characters(text, characters(text), ["NEXT", "NEXT"])] == [(0, 1), (2, 3)]
    assert join_characters("", [], []) == []


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
def test_the_tree_of_the_characters_has_the_words(words: list[str]) -> None:
    tree = character_tree(words, "TOP")
    text = "".join(words)
    assert [node.label for node in tree.child_trees] == ["WORD"] * len(words)
    if "DNADNA" not in text:  # Latin words have spaces between them
        assert [token.text for token in join_characters(text, characters(text), tree.tags)] == words


@pytest.fixture(scope="module")
def parser(minilm: Path) -> Parser:
    """A parser with random weights and the schemes of words and of characters."""
    trees = [Tree.parse("(TOP (NP (N 昨日) (P は)) (PU 。))"), Tree.parse("(TOP (N 猫) (P は))")]
    character_trees = [character_tree(tree.words, "TOP") for tree in trees]
    made = random_bert_parser(trees + character_trees, minilm, schemes=("ja", CHARACTERS))
    schemes = scheme_arrays({"ja": 3 * trees, CHARACTERS: 3 * character_trees})
    parser = Parser(made.scorer, made.vocabulary, subwords=made.subwords, arrays={"schemes": schemes})
    parser.language, parser.scheme = "ja", "ja"
    return parser


def test_a_parser_splits_text_into_the_words_that_it_finds(parser: Parser) -> None:
    text = "昨日は猫。\n猫は昨日、 猫。"
    tokens = [token for sentence in parser.split_text(text) for token in sentence]
    assert [token.text for token in tokens] == [text[token.start : token.end] for token in tokens]
    assert "".join(token.text for token in tokens) == "".join(text.split())
    assert tokens == parser.tokenize(text) and parser.scheme == "ja"


def test_trees_of_a_text_have_the_words_and_tags_of_the_scheme(parser: Parser) -> None:
    text = "昨日は猫。猫は昨日。"
    parsed = list(parser.parse_text(text))
    assert [sentence.tree.words for sentence in parsed] == [
        [token.text for token in tokens] for tokens in parser.split_text(text)
    ]
    assert {tag for sentence in parsed for tag in sentence.tree.tags} <= {"N", "P", "PU"}
    assert parser.parse("昨日は猫。") == parsed[0].tree


def test_a_parser_without_the_scheme_follows_the_rules_of_its_language() -> None:
    parser = random_parser([Tree.parse("(TOP (NN cat))")])
    assert [token.text for token in parser.tokenize("It isn't.")] == ["It", "is", "n't", "."]
