from dataclasses import replace
from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.parser.models.model_card import ModelCard, TreebankPrecision
from treecrf.parser.storage import load_parser_state
from treecrf.training.export import precisions
from treecrf.training.export.card_files import to_markdown
from treecrf.training.export.precisions import allow_half_precision, compare_precisions
from treecrf.trees.evalb import COLLINS
from treecrf.trees.tree import Tree

TREES = toy_trees(20, seed=9)
GOOD = TreebankPrecision(name="toy", precision="float16", sentences=9, f1=80.0, float32_f1=80.04, equal_trees=99.6)


def test_a_card_compares_8_bits_with_float32(packed: Path) -> None:
    card = ModelCard.load(packed)
    (entry,) = card.precisions
    assert (entry.name, entry.precision, entry.sentences) == ("toy", "int8", 20)
    assert abs(entry.f1 - entry.float32_f1) < 5 and entry.equal_trees > 50
    row = f"| toy | 20 | int8 | {entry.f1:.2f} | {entry.float32_f1:.2f} | {entry.equal_trees:.2f} % |"
    assert row in to_markdown(card)
    assert "## Precision" not in to_markdown(replace(card, precisions=()))


def test_a_parser_in_float32_has_nothing_to_compare(tmp_path: Path) -> None:
    parser = random_parser(TREES)
    assert compare_precisions(parser, tmp_path, {"toy": TREES}, COLLINS) == ()


def test_equal_trees_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random_parser(TREES, tag_head=True).save(tmp_path / "model")
    parser = Parser.load(tmp_path / "model", "cpu", precision="int8")
    other = [*TREES[:15], *(Tree.parse(str(tree).replace("(NP", "(XP")) for tree in TREES[15:])]
    predicted = iter([TREES, other])
    monkeypatch.setattr(precisions, "predict_trees", lambda *_: next(predicted))
    (entry,) = compare_precisions(parser, tmp_path / "model", {"toy": TREES}, COLLINS)
    assert (entry.f1, entry.equal_trees) == (100.0, 75.0) and entry.float32_f1 < 100


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([GOOD], True),
        ([GOOD, replace(GOOD, f1=79.98)], False),
        ([GOOD, replace(GOOD, equal_trees=99.3)], False),
        ([replace(GOOD, equal_trees=99.4), replace(GOOD, sentences=90)], True),  # 99.58 % of the trees of both
        ([replace(GOOD, precision="int8", f1=10.0)], True),  # says nothing about GPUs
    ],
)
def test_half_precision_is_the_default_where_it_is_as_good(
    tmp_path: Path, found: list[TreebankPrecision], expected: bool
) -> None:
    random_parser(TREES).save(tmp_path)
    allow_half_precision(tmp_path, [GOOD])
    assert load_parser_state(tmp_path).config.half_precision
    allow_half_precision(tmp_path, found)
    assert load_parser_state(tmp_path).config.half_precision == expected
    assert list(Parser.load(tmp_path, "cpu").parse_many([["a"]]))
