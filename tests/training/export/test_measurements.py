"""Tests of the measurements in a model card."""

import gzip
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from small import FIFTY, small_recipe
from toygrammar import toy_trees
from training.export.toy_card import PURPOSE, TREEBANK
from treecrf.parser import Parser
from treecrf.parser.models.model_card import ModelCard
from treecrf.training import fit
from treecrf.training.calibration import measure
from treecrf.training.export.card_files import to_markdown
from treecrf.training.export.pack import pack_model, renew_card


def test_sentences_that_evalb_cannot_score_count_in_f1(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    tree = b"(TOP (S (NP (NN cats)) (, meow)))\n"  # the rules delete a word with this tag
    (tmp_path / "odd" / "test.mrg.gz").write_bytes(gzip.compress(tree))
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "train.mrg").write_bytes(Path(FIFTY).read_bytes())
    purpose = replace(PURPOSE, tests=("odd",))
    card = pack_model(run_folder, tmp_path / "model", purpose, {"toy": TREEBANK}, data=tmp_path, device="cpu")
    (score,) = card.scores
    assert (score.skipped, score.evalb_f1, score.evalb_interval) == (1, 0.0, (0.0, 0.0))
    assert score.sentences == 1 and score.f1 > 0


def test_a_card_has_the_calibration_the_speed_and_the_memory_of_its_model(packed: Path) -> None:
    card = ModelCard.load(packed)
    (entry,) = card.calibration
    report = measure(Parser.load(packed, device="cpu"), toy_trees(20, seed=9)).reliability
    assert (entry.name, entry.sentences, entry.constituents) == ("toy", 20, report["labeled"].predictions)
    assert entry.constituent_error == pytest.approx(report["labeled"].error)
    assert entry.tree_error == pytest.approx(report["trees"].error)
    assert card.speed is not None and card.speed.sentences == 20 and card.speed.sentences_per_second > 0
    assert "cpu" in card.speed.parser
    if sys.platform == "linux":
        assert card.speed.peak_memory is not None and card.speed.peak_memory > 2e7
    text = to_markdown(replace(card, purpose=replace(PURPOSE, speeds=("7 sentences/s on a tablet.",))))
    assert f"| toy | 20 | {entry.constituents} | {entry.constituent_error:.4f} | {entry.tree_error:.4f} |" in text
    assert (
        f"- {card.speed.sentences_per_second:,.0f} sentences/s on " in text and "- 7 sentences/s on a tablet." in text
    )


def test_the_calibration_of_several_test_sets_is_also_measured_together(
    run_folder: Path, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / "toy", tmp_path / "toy")
    (tmp_path / "more").mkdir()
    shutil.copy(data / "toy" / "test.mrg.gz", tmp_path / "more")
    purpose = replace(PURPOSE, tests=("toy", "more"))
    card = pack_model(run_folder, tmp_path / "model", purpose, {"toy": TREEBANK}, data=tmp_path, device="cpu")
    one, other, both = card.calibration
    assert (one.name, other.name, both.name) == ("toy", "more", "all")
    assert both.sentences == 40 and both.constituents == one.constituents + other.constituents
    assert both.constituent_error == pytest.approx(one.constituent_error)  # the same sentences twice


def test_a_card_can_get_its_scores_when_it_is_renewed(run_folder: Path, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    treebanks = {"toy": TREEBANK}
    card = pack_model(run_folder, folder, PURPOSE, treebanks, data=data, device="cpu", only_precisions=True)
    assert card.precisions and not (card.scores or card.calibration or card.well_formedness or card.speed)
    renewed = renew_card(folder, PURPOSE, treebanks, data=data, device="cpu")
    assert renewed.precisions == card.precisions and renewed.scores and renewed.speed


def test_a_max_margin_model_has_no_calibration(data: Path, tmp_path: Path) -> None:
    where = {"train": (str(data / "toy" / "train.mrg"),), "dev": (FIFTY,)}
    fit(small_recipe(data=where, model={"loss": "one-stage-margin"}, epochs=1), tmp_path / "run", device="cpu")
    card = pack_model(tmp_path / "run", tmp_path / "model", PURPOSE, {"toy": TREEBANK}, data=data, device="cpu")
    assert card.scores and not card.calibration and "## Calibration" not in to_markdown(card)
