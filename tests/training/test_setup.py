from pathlib import Path

import pytest
import torch

from small import FIFTY, small_recipe
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.training import DataConfig
from treecrf.training.distributed import Processes
from treecrf.training.setup import TreebankPart, build_parser, describe_other_language, prepare_training
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees


def test_retagging_replaces_the_tags_of_some_words() -> None:
    tree = Tree.parse("(TOP (S (NP (NNP To)) (VP (VBD went) (PP (IN to) (NP (NN a/b))))))")
    part = TreebankPart(trees=[tree, *toy_trees(5)], files=[("file", 6)])
    retagged = part.retag(["to/TO", "a/b/SYM"])
    assert str(retagged.trees[0]) == "(TOP (S (NP (TO To)) (VP (VBD went) (PP (TO to) (NP (SYM a/b))))))"
    assert retagged.trees[1:] == part.trees[1:] and retagged.files == part.files
    assert part.retag([]) is part


@pytest.mark.parametrize("pair", ["to", "/TO", "to/", ""])
def test_a_retag_pair_without_a_word_or_tag_is_an_error(pair: str) -> None:
    with pytest.raises(ValueError, match="expected a word, a slash and its tag"):
        DataConfig(train=("a",), dev=("b",), retag=(pair,))


def test_a_parser_can_start_with_the_encoder_of_an_installed_model() -> None:
    recipe = small_recipe(model={"char_size": 0, "encoder": "transformer", "transformer": "en"})
    encoder = build_parser(recipe, toy_trees(5)).model.transformer.encoder
    trained = Parser.load("en", "cpu", precision="float32").model.transformer.encoder
    assert all(map(torch.equal, encoder.parameters(), trained.parameters()))


def test_same_label_unaries_are_a_rule_or_an_exception_of_a_treebank() -> None:
    repeated = Tree.parse("(TOP (NP (NP (N a))))")
    assert build_parser(small_recipe(), [repeated, *toy_trees(3)]).same_label_unaries
    assert not build_parser(small_recipe(), [repeated, *toy_trees(60)]).same_label_unaries


def test_parsed_trees_are_trained_on_and_their_productions_are_not_counted(tmp_path: Path) -> None:
    trees = list(read_trees(FIFTY))
    write_trees(tmp_path / "gold.mrg", trees[:40])
    write_trees(tmp_path / "parsed.mrg", trees[40:])
    data = {"train": (str(tmp_path / "gold.mrg"),), "parsed": (str(tmp_path / "parsed.mrg"),), "weights": (1.0, 0.5)}
    setup = prepare_training(small_recipe(data=data), tmp_path / "run", Processes(device=torch.device("cpu")))
    assert len(setup.loader.corpus.lengths) == len(trees)
    assert setup.loader.weights == [1.0] * 40 + [0.5] * (len(trees) - 40)
    assert setup.parser.productions == build_parser(small_recipe(), trees[:40]).productions
    assert setup.parser.productions != build_parser(small_recipe(), trees).productions


@pytest.mark.parametrize(
    ("words", "language", "messages"),
    [
        ("Os meninos que vieram não são os filhos da senhora .", "pt", []),
        (
            "Os meninos que vieram não são os filhos da senhora .",
            "en",
            [
                "the trees look Portuguese; the parser would split raw text as English (data.language): set "
                "data.language=pt"
            ],
        ),
        (
            "Das ist nicht die Bibliothek , die ich mit dir besucht habe .",
            "en",
            [
                "the trees look German; the parser would split raw text as English (data.language): give the parser "
                "words (`treecrf parse --tokens`)"
            ],
        ),
    ],
)
def test_trees_in_another_language_than_the_settings_are_named(words: str, language: str, messages: list[str]) -> None:
    tree = Tree.parse("(S " + " ".join(f"(X {word})" for word in words.split()) + ")")
    assert describe_other_language([tree] * 3, language) == messages
