"""Distillation: its effect, resumed runs, and teachers that do not fit the student."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from small import FIFTY, small_recipe, whole_and_resumed
from treecrf.network.nn import TensorBatch
from treecrf.parser import Parser
from treecrf.parser.storage import load_parser_state, save_parser_state
from treecrf.training import Recipe, fit
from treecrf.training.conditions import Told
from treecrf.training.distillation import load_teachers, save_soft_targets
from treecrf.training.distributed import join_processes
from treecrf.training.setup import prepare_training
from treecrf.trees.treebank import read_trees, write_trees


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("teacher") / "run"
    fit(small_recipe(epochs=8), folder, device="cpu")
    return str(folder)


def test_a_student_without_gold_trees_learns_the_probabilities_of_its_teacher(tmp_path: Path, teacher: str) -> None:
    model = {"dropout": 0.0}
    distillation = small_recipe(model=model, epochs=15, seed=5, teachers=(teacher,), distillation_weight=1.0)
    fit(distillation, tmp_path / "student", device="cpu")
    fit(small_recipe(model=model, epochs=15, seed=5), tmp_path / "alone", device="cpu")
    words = [tree.words for tree in read_trees(FIFTY)]
    teacher_entropies, student_entropies, other_entropies = (
        [analysis.entropy for analysis in Parser.load(folder, "cpu").analyze_many(words)]
        for folder in (teacher, tmp_path / "student", tmp_path / "alone")
    )
    distance = _distance(teacher_entropies, student_entropies)
    assert distance < 0.5 * _distance(teacher_entropies, other_entropies)


def _distance(left: list[float], right: list[float]) -> float:
    return sum(abs(one - other) for one, other in zip(left, right, strict=True))


def test_a_run_with_teachers_resumes_to_the_same_weights(tmp_path: Path, teacher: str) -> None:
    recipe = small_recipe(epochs=3, teachers=(teacher, teacher), checkpoint_steps=2)
    whole, resumed = whole_and_resumed(recipe, tmp_path)
    assert whole.keys() == resumed.keys() and all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_a_teacher_with_other_labels_is_an_error(tmp_path: Path, teacher: str) -> None:
    write_trees(tmp_path / "few.mrg", list(read_trees(FIFTY))[:20])
    recipe = small_recipe(data={"train": (str(tmp_path / "few.mrg"),)}, teachers=(teacher,))
    with pytest.raises(ValueError, match=r"has other labels than its student: \d+ are in one of them only"):
        fit(recipe, tmp_path / "run", device="cpu")


def test_each_teacher_reads_sentences_with_its_own_inputs(tmp_path: Path, teacher: str, encoder: str) -> None:
    subwords = {"encoder": "transformer", "transformer_layers": 2, "transformer": encoder}
    fit(small_recipe(model=subwords, epochs=1), tmp_path / "subwords", device="cpu")
    teachers = (teacher, str(tmp_path / "subwords"))
    result = fit(small_recipe(model={"char_size": 0}, epochs=1, teachers=teachers), tmp_path / "run", device="cpu")
    assert result.dev_f > 0


@pytest.mark.parametrize("schemes", [("a", "b"), ("b",)], ids=["told", "other schemes"])
def test_teachers_are_told_what_their_student_may_be_told(
    tmp_path: Path, encoder: str, schemes: tuple[str, ...]
) -> None:
    model = {"encoder": "transformer", "transformer_layers": 2, "transformer": encoder, "tag_conditions": True}
    data = {"schemes": ("b",), "told": 0.5}
    fit(small_recipe(model={**model, "schemes": schemes}, data=data, epochs=1), tmp_path / "teacher", device="cpu")
    teacher = load_parser_state(tmp_path / "teacher")
    conditions = {name: 0.1 * np.ones_like(each) for name, each in teacher.weights.items() if "conditions" in name}
    save_parser_state(tmp_path / "teacher", replace(teacher, weights={**teacher.weights, **conditions}))
    recipe = small_recipe(
        model={**model, "schemes": ("a", "b")}, data=data, epochs=1, teachers=(str(tmp_path / "teacher"),)
    )
    with join_processes("cpu") as processes:
        setup = prepare_training(recipe, tmp_path / "run", processes)
    assert setup.soft_targets is not None and setup.loader.conditions is not None
    known, words = setup.loader.conditions.known(3), setup.loader.corpus.words[3]
    targets = []
    for told in (Told(words, [None] * len(words), 0), known._replace(tags=[None] * len(words)), known):
        batch = setup.loader.corpus.collate([words], [3], setup.parser.numericalizer, read_tags=True, told=[told])
        targets.append(setup.soft_targets.read(TensorBatch.from_host(batch)).spans)
    if "a" in schemes:
        for left, right in combinations(targets, 2):
            assert not torch.equal(left, right)
        assert all(((target > 0) & (target < 1)).any() for target in targets)
    else:  # the targets are the gold tree
        assert torch.equal(targets[1], targets[2]) and set(targets[1].flatten().tolist()) == {0, 1}


def test_parsed_sentences_have_targets_beside_sentences_whose_teachers_are_told(tmp_path: Path, encoder: str) -> None:
    model = {"encoder": "transformer", "transformer_layers": 2, "transformer": encoder, "schemes": ("a",)}
    data = {"schemes": ("a",), "told": 0.5}
    fit(small_recipe(model=model, data=data, epochs=1), tmp_path / "teacher", device="cpu")
    data = {"parsed": (FIFTY,), "schemes": ("a", ""), "told": 0.5}
    recipe = small_recipe(model=model, data=data, epochs=1, teachers=(str(tmp_path / "teacher"),))
    with join_processes("cpu") as processes:
        setup = prepare_training(recipe, tmp_path / "run", processes)
    assert setup.soft_targets is not None
    count = len(setup.loader.corpus.words) // 2
    targets = []
    for number, scheme in ((3, 0), (3, 1), (count + 3, 0), (2 * count - 1, 0)):
        words = setup.loader.corpus.words[number]
        told = [Told(words, [None] * len(words), scheme)]
        batch = setup.loader.corpus.collate([words], [number], setup.parser.numericalizer, read_tags=False, told=told)
        targets.append(setup.soft_targets.read(TensorBatch.from_host(batch)))
    gold, _, parsed, last = targets  # the parsed sentences are the gold ones once more
    assert torch.equal(gold.spans, parsed.spans) and torch.equal(gold.labels, parsed.labels)
    assert all(torch.allclose(each.labels.sum(-1), torch.ones(1), atol=0.01) for each in (gold, parsed, last))


def test_a_max_margin_model_is_neither_teacher_nor_student(tmp_path: Path, teacher: str) -> None:
    fit(small_recipe(model={"loss": "one-stage-margin"}, epochs=1), tmp_path / "margin", device="cpu")
    with pytest.raises(ValueError, match="has a max-margin loss and no probabilities"):
        load_teachers([str(tmp_path / "margin")], Parser.load(teacher, "cpu"))
    with pytest.raises(ValueError, match="expected 'two-stage' or 'one-stage-crf'"):
        small_recipe(model={"loss": "one-stage-margin"}, teachers=(teacher,))


def test_the_distillation_weight_is_a_share() -> None:
    with pytest.raises(ValueError, match=r"distillation_weight is 1\.5; expected a share of the loss, from 0 to 1"):
        small_recipe(distillation_weight=1.5)


def test_students_read_the_probabilities_of_teachers_from_a_file(tmp_path: Path, teacher: str) -> None:
    recipe = small_recipe(epochs=1, teachers=(teacher,))
    _write_soft_targets(recipe, tmp_path / "targets.safetensors")
    fit(recipe, tmp_path / "asks", device="cpu")
    read = replace(recipe, train=replace(recipe.train, soft_targets=str(tmp_path / "targets.safetensors")))
    fit(read, tmp_path / "reads", device="cpu")
    asked, read_weights = (load_parser_state(tmp_path / name).weights for name in ("asks", "reads"))
    assert all(np.array_equal(asked[name], read_weights[name]) for name in asked)


def test_soft_targets_of_other_sentences_are_an_error(tmp_path: Path, teacher: str) -> None:
    _write_soft_targets(small_recipe(epochs=1, teachers=(teacher,)), tmp_path / "targets.safetensors")
    trees = list(read_trees(FIFTY))
    write_trees(tmp_path / "others.mrg", trees[1:] + trees[:1])
    data = {"train": (str(tmp_path / "others.mrg"),)}
    recipe = small_recipe(data=data, epochs=1, soft_targets=str(tmp_path / "targets.safetensors"))
    with pytest.raises(ValueError, match="soft targets of other sentences, trees, labels or tags"):
        fit(recipe, tmp_path / "run", device="cpu")


def _write_soft_targets(recipe: Recipe, path: Path) -> None:
    with join_processes("cpu") as processes:
        setup = prepare_training(recipe, path.parent, processes)
    assert setup.soft_targets is not None
    save_soft_targets(path, setup.soft_targets, setup.parser, setup.loader.corpus)


def test_a_file_without_soft_targets_is_an_error(tmp_path: Path) -> None:
    recipe = small_recipe(epochs=1, soft_targets=str(tmp_path / "targets.safetensors"))
    with pytest.raises(FileNotFoundError, match=r"targets\.safetensors \(train\.soft_targets\)"):
        fit(recipe, tmp_path / "run", device="cpu")
    save_file({"other": np.zeros(2)}, tmp_path / "targets.safetensors")
    with pytest.raises(ValueError, match="has the soft targets of other sentences"):
        fit(recipe, tmp_path / "run", device="cpu")
