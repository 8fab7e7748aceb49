"""Tests of the files of model cards."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from small import FIFTY
from toygrammar import toy_trees
from training.export.toy_card import TREEBANK
from treecrf.files import file_digest
from treecrf.parser.models.model_card import ModelCard
from treecrf.training.export.card_files import to_markdown
from treecrf.trees.treebank import read_trees


def test_a_card_has_data_and_scores(packed: Path) -> None:
    card = ModelCard.load(packed)
    assert (card.name, card.commit, card.data) == ("toy-model", "abc", (TREEBANK,))
    (score,) = card.scores
    assert score.sentences == 20 and score.interval[0] <= score.f1 <= score.interval[1]
    train = {" ".join(tree.words).lower() for tree in read_trees(FIFTY)}
    seen = [tree for tree in toy_trees(20, seed=9) if " ".join(tree.words).lower() in train]
    assert (score.seen, score.seen_long) == (len(seen), sum(len(tree.words) >= 6 for tree in seen))
    assert {"NP", "VP", "S"} <= set(card.labels) and "DT" in card.tags
    text = (packed / "README.md").read_text(encoding="utf-8")
    assert text == to_markdown(card)
    (entry,) = card.well_formedness
    assert entry.trees == 20 and entry.ill_formed[0] == 0 <= entry.ill_formed[1]
    for part in (
        f"| toy | 20 | 0.0 % / {5 * entry.ill_formed[1]:.1f} % |",
        "CC0",
        "it is a toy",
        f"{score.f1:.2f}",
        f"{score.interval[0]:.2f} to",
        "Small.",
        "## Citation",
    ):
        assert part in text


def test_a_damaged_card_is_an_error(packed: Path, tmp_path: Path) -> None:
    facts = json.loads((packed / "card.json").read_text())
    del facts["scores"]
    (tmp_path / "card.json").write_text(json.dumps(facts))
    with pytest.raises(ValueError, match=r"card\.json is not a model card"):
        ModelCard.load(tmp_path)


def test_a_card_has_the_sentences_that_evalb_skips_and_those_of_the_training_data(packed: Path) -> None:
    card = ModelCard.load(packed)
    score = replace(card.scores[0], f1=84.75, evalb_f1=85.15, skipped=7, seen=5, seen_long=3, unseen_f1=84.5)
    text = to_markdown(replace(card, scores=(score,)))
    (row,) = [line for line in text.splitlines() if line.startswith("| toy | 20 | 84.75 (")]
    assert "| 85.15 (" in row and "| 7 |" in row
    assert "| toy | 5 | 3 | 84.50 |" in text


def test_a_card_has_the_digest_the_seed_and_the_minutes_of_each_training(packed: Path, run_folder: Path) -> None:
    card = ModelCard.load(packed)
    model, teacher = card.runs
    assert (model.name, teacher.name) == ("toy-model", "teacher") and model.seed == teacher.seed == 1
    assert model.recipe_digest == file_digest(run_folder / "recipe.toml") != teacher.recipe_digest
    assert model.device and 0 <= model.minutes < 60
    text = to_markdown(replace(card, runs=(replace(teacher, minutes=3.24, device="H200"),)))
    assert f"| teacher | `{teacher.recipe_digest[:16]}` | 1 | 3.2 | H200 |" in text
