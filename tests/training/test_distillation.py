"""Parsers that learn from others: what changes, what is refused, and that a run may stop meanwhile."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from small import FIFTY, small_recipe, whole_and_resumed
from treecrf.parser import Parser
from treecrf.training import fit
from treecrf.training.distillation import Teachers
from treecrf.treebank import read_trees, write_trees


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("teacher") / "run"
    fit(small_recipe(epochs=8), folder, device="cpu")
    return str(folder)


def test_who_trusts_a_teacher_alone_comes_to_believe_what_it_does(tmp_path: Path, teacher: str) -> None:
    model = {"dropout": 0.0}
    taught = small_recipe(model=model, epochs=15, seed=5, teachers=(teacher,), distillation_weight=1.0)
    fit(taught, tmp_path / "taught", device="cpu")
    fit(small_recipe(model=model, epochs=15, seed=5), tmp_path / "alone", device="cpu")
    words = [tree.words for tree in read_trees(FIFTY)]
    believed, learned, alone = (
        [analysis.entropy for analysis in Parser.load(folder, "cpu").analyze_many(words)]
        for folder in (teacher, tmp_path / "taught", tmp_path / "alone")
    )
    assert _distance(believed, learned) < 0.5 * _distance(believed, alone)


def _distance(left: list[float], right: list[float]) -> float:
    return sum(abs(one - other) for one, other in zip(left, right, strict=True))


def test_a_run_with_teachers_resumes_to_the_same_weights(tmp_path: Path, teacher: str) -> None:
    recipe = small_recipe(epochs=3, teachers=(teacher, teacher), checkpoint_steps=2)
    whole, resumed = whole_and_resumed(recipe, tmp_path)
    assert whole.keys() == resumed.keys() and all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_a_teacher_with_another_vocabulary_is_refused(tmp_path: Path, teacher: str) -> None:
    write_trees(tmp_path / "few.mrg", list(read_trees(FIFTY))[:20])
    recipe = small_recipe(data={"train": (str(tmp_path / "few.mrg"),)}, teachers=(teacher,))
    with pytest.raises(ValueError, match=r"has another vocabulary; expected a parser of the same data\.train"):
        fit(recipe, tmp_path / "run", device="cpu")


def test_a_teacher_that_reads_more_is_refused(tmp_path: Path, teacher: str) -> None:
    recipe = small_recipe(model={"char_size": 0}, teachers=(teacher,))
    with pytest.raises(ValueError, match="reads characters, which the parser that it should teach does not"):
        fit(recipe, tmp_path / "run", device="cpu")


def test_a_teacher_that_cuts_words_into_other_pieces_is_refused(tmp_path: Path, encoder: str) -> None:
    other = tmp_path / "other"
    shutil.copytree(encoder, other)
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {
        piece: number for piece, number in tokenizer["model"]["vocab"].items() if len(piece) < 4 or piece[0] == "["
    }
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    model = {"encoder": "transformer", "transformer_layers": 2, "transformer": encoder}
    fit(small_recipe(model=model, epochs=1), tmp_path / "teacher", device="cpu")
    recipe = small_recipe(
        model=model | {"transformer": str(tmp_path / "teacher")}, teachers=(str(tmp_path / "teacher"),)
    )
    fit(recipe, tmp_path / "same", device="cpu")  # by another name
    recipe = replace(recipe, model=replace(recipe.model, transformer=str(other)))
    with pytest.raises(ValueError, match="cuts words into other pieces; expected an encoder with the same tokenizer"):
        fit(recipe, tmp_path / "run", device="cpu")


def test_a_margin_neither_teaches_nor_learns(tmp_path: Path, teacher: str) -> None:
    fit(small_recipe(model={"loss": "one-stage-margin"}, epochs=1), tmp_path / "margin", device="cpu")
    with pytest.raises(ValueError, match="has no probabilities to teach"):
        Teachers.load([str(tmp_path / "margin")], Parser.load(teacher, "cpu"), distillation_weight=0.5)
    with pytest.raises(ValueError, match="expected a CRF's loss"):
        small_recipe(model={"loss": "one-stage-margin"}, teachers=(teacher,))


def test_trust_is_a_share() -> None:
    with pytest.raises(ValueError, match=r"distillation_weight is 1\.5; expected a share of the loss, from 0 to 1"):
        small_recipe(distillation_weight=1.5)
