from dataclasses import replace

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.parser.pipeline import DEFAULT_BATCHING
from treecrf.trees.treebank.well_formed import count_productions

TREES = toy_trees(20)


@pytest.fixture
def parser() -> Parser:
    parser = random_parser(TREES, tag_head=True)
    parser.productions = count_productions(TREES)
    return parser


def test_settings_are_stored_in_the_config(parser: Parser) -> None:
    before = parser.config
    parser.root, parser.f1_threshold, parser.same_label_unaries = "ROOT", 0.25, False
    assert parser.config == replace(before, root="ROOT", f1_threshold=0.25, same_label_unaries=False)
    assert (parser.root, parser.f1_threshold, parser.language) == ("ROOT", 0.25, before.language)
    assert parser.config.model == parser.model_config


@pytest.mark.parametrize(
    ("name", "value"),
    [("f1_threshold", 1.0), ("f1_threshold", -0.1), ("grammar_weight", 1.5), ("grammar_weight", -0.1), ("root", "\n")],
)
def test_impossible_settings_are_refused_and_change_nothing(parser: Parser, name: str, value: object) -> None:
    before = parser.config
    with pytest.raises(ValueError, match=name):
        setattr(parser, name, value)
    assert parser.config == before


def test_settings_renew_the_utility_of_decoding(parser: Parser) -> None:
    assert parser.expected_f1 is None
    parser.f1_threshold = 0.4
    utility = parser.expected_f1
    assert utility is not None and utility.threshold == 0.4 and utility is parser.expected_f1
    assert utility.grammar is not None and utility.grammar.weight == parser.grammar_weight
    parser.grammar_weight = 0.0
    assert parser.expected_f1 is not None and parser.expected_f1.grammar is None


def test_damaged_productions_name_the_parser(parser: Parser) -> None:
    parser.f1_threshold = 0.4
    parser.productions = {(): 1}  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"the parser: .*productions.*; copy the folder again"):
        _ = parser.expected_f1


def test_a_one_stage_model_has_smaller_batches_and_sentences() -> None:
    parser = random_parser(TREES, loss="one-stage-crf")
    parser.vocabulary = replace(parser.vocabulary, labels=[f"L{number}" for number in range(3000)])
    assert parser.batching.batch_cells == (1 << 28) // 3000 < DEFAULT_BATCHING["cpu"].batch_cells
    assert parser.reader.max_words == 299
