import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import treecrf
from project_models import PROJECT_MODELS, model_folder
from small import FIFTY
from treecrf.config import read_config, to_toml
from treecrf.network.data.vectors import read_vectors
from treecrf.network.nn import ModelConfig
from treecrf.parser.models import is_embedded
from treecrf.parser.models.model_card import Purpose
from treecrf.parser.segmentation import CHARACTERS
from treecrf.training import Recipe, TrainConfig
from treecrf.training.reproduce.paper import BY_NAME, TABLES
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "recipes"
MODELS = RECIPES / "models"
FILES = sorted(RECIPES.glob("*/*.toml"))
CORPORA = ("ptb", "ctb5", "ctb7")
TREEBANKS = ["craft", "genia", "gum", "masc", "mctb", "ptb_sample", "redwoods", "sinica", "zhong"]
TREEBANKS += ["cess_cat", "cess_esp", "farpahc", "floresta", "greynir", "icepahc", "icon", "keyaki"]


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, MODELS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name: str) -> Recipe:
    (path,) = (path for path in FILES if path.stem == name)
    return read_config(Recipe, path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_recipe_is_the_same_after_writing_and_reading(path: Path, tmp_path: Path) -> None:
    recipe = read_config(Recipe, path)
    (tmp_path / "copy.toml").write_text(to_toml(recipe))
    assert read_config(Recipe, tmp_path / "copy.toml") == recipe
    assert recipe.data.train and recipe.data.dev


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_recipe_starts_with_a_comment(path: Path) -> None:
    assert path.read_text().startswith("# ")


def test_every_treebank_has_its_recipe() -> None:
    names = {folder: {path.stem for path in FILES if path.parent.name == folder} for folder in ("paper", "treebanks")}
    assert names["paper"] == set(CORPORA) and set(TREEBANKS) <= names["treebanks"]


def test_the_rows_of_the_papers_tables_are_documented_with_their_settings() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]*) \|$", (ROOT / "docs" / "training.md").read_text(), re.MULTILINE)
    inputs = {"vectors": "FILE", "unknown": "WORD", "encoder": "NAME"}
    documented = {name: re.findall(r"`([^`]+)`", cell) for name, cell in rows if name in BY_NAME}
    assert documented.pop("no-mbr") == ["train.mbr=false"]
    assert documented == {
        row.name: [setting.format(**inputs) for setting in row.settings]
        for row in (*TABLES["dev"], BY_NAME["vectors"], BY_NAME["frozen"])
        if row.mbr
    }


@pytest.mark.parametrize("name", [*CORPORA, "ptb_sample", "sinica"])
def test_the_main_recipes_are_the_papers_settings(name: str) -> None:
    assert load(name).model == ModelConfig() and load(name).train == TrainConfig()


def test_gum_has_the_papers_model_with_smaller_batches() -> None:
    recipe = load("gum")
    assert recipe.model == ModelConfig() and recipe.train == TrainConfig(batch_words=2500, ema_decay=0.995)


def test_the_defaults_are_the_papers_settings() -> None:
    model, train = ModelConfig(), TrainConfig()
    assert (model.word_size, model.char_embedding_size, model.char_size) == (100, 50, 100)
    assert (model.lstm_size, model.lstm_layers, model.span_size, model.label_size) == (400, 3, 500, 100)
    assert (model.dropout, model.dropout_kind, model.loss, model.scorer) == (0.33, "shared", "two-stage", "biaffine")
    assert (train.learning_rate, train.betas, train.epsilon, train.clip) == (2e-3, (0.9, 0.9), 1e-12, 5.0)
    assert (train.decay, train.decay_steps, train.batch_words) == (0.75, 5000, 5000)
    assert (train.epochs, train.patience, train.seed, train.mbr) == (1000, 100, 1, True)


def test_gum_is_trained_on_both_its_parts() -> None:
    assert len(load("gum").data.train) == 2


@pytest.mark.parametrize("name", ["ctb5", "ctb7", "sinica", "zhong"])
def test_chinese_parsers_tokenize_raw_text_as_chinese(name: str) -> None:
    assert load(name).data.language == "zh"


@pytest.mark.parametrize("name", ["en", "en-lstm", "zh"])
def test_models_predict_tags_and_normalize_words(name: str) -> None:
    recipe = load(name)
    assert recipe.model.tag_head
    assert recipe.data.normalization == ("simplified" if name == "zh" else "plain")


make = load_script("make")
MODELS_MADE = sorted(make.MODELS)
ENGLISH_MODELS = [name for name in MODELS_MADE if make.MODELS[name].family == "en"]


@pytest.mark.parametrize("name", MODELS_MADE)
def test_a_model_has_the_gold_trees_and_the_conditions_of_its_teachers(name: str) -> None:
    student, teacher = load(name), load(f"{make.MODELS[name].family}-teacher")
    assert student.data.train == teacher.data.train and student.data.normalization == teacher.data.normalization
    assert not teacher.data.parsed and not (teacher.data.test or student.data.test)  # models are chosen on dev alone
    assert student.model.tag_head and teacher.model.tag_head
    assert student.data.language == ("en" if name in ENGLISH_MODELS else name)
    if name != "en-lstm":  # an LSTM reads no conditions
        conditions = (teacher.model.schemes, teacher.model.tag_conditions, teacher.data.told)
        assert (student.model.schemes, student.model.tag_conditions, student.data.told) == conditions
    assert not student.data.scheme or student.data.scheme in make.MODELS[name].dev.split()
    assert student.data.scheme or CHARACTERS not in student.data.schemes  # trees have words by default
    files = len(student.data.train) + len(student.data.parsed)
    assert bool(student.data.parsed) == bool(make.MODELS[name].raw) and len(student.data.weights) in (0, files)


@pytest.mark.parametrize("name", MODELS_MADE)
def test_the_steps_of_a_model_make_all_that_its_training_reads(name: str) -> None:
    steps, recipe, made = list(make.steps_of(name)), load(name), ""
    before = {step.name for step in steps[: next(n for n, step in enumerate(steps) if step.name == name)]}
    assert {f"runs/{need}" for need in before} >= {*recipe.train.teachers}
    training = next(step for step in steps if step.name == name)
    if recipe.train.soft_targets:
        assert training.needs == (Path(recipe.train.soft_targets).stem,)
    else:
        assert {f"runs/{need}" for need in training.needs} >= {*recipe.train.teachers}
    for step in steps:
        earlier = steps[: steps.index(step)]
        assert set(step.needs) <= {other.name for other in earlier}
        scripts = re.findall(r"(?:recipes|benchmarks)/\S+\.(?:py|toml)", step.command)
        assert all((ROOT / path).is_file() for path in scripts)
        made += f"{step.command}\n" if step.stage != "finish" else ""
    treebanks = re.compile(r"data/[a-z_]+/(?:train|dev)\.mrg\.gz|data/constructions/train\.mrg")
    read = {*recipe.data.train, *recipe.data.parsed, *recipe.data.dev, *filter(None, [recipe.data.vectors])}
    assert all(treebanks.fullmatch(path) or path.rpartition("/")[2].partition(".")[0] in made for path in read)
    encoder = recipe.model.transformer
    assert not encoder or f" {encoder}\n" in made


@pytest.mark.parametrize("name", [*PROJECT_MODELS, *sorted({*MODELS_MADE} - {*PROJECT_MODELS})])
def test_a_model_is_packed_completed_and_measured_for_its_card(name: str) -> None:
    steps = {step.name: step for step in make.steps_of(name)}
    *_, last = steps.values()
    assert (last.stage, last.name) == ("finish", f"{name}-card")
    out = f"src/treecrf/parser/models/{name}" if is_embedded(name) else f"packages/treecrf-{name}"
    pack = steps[f"{name}-packed"].command
    assert f"treecrf pack runs/{name} {out} " in pack
    assert ("--package-version" in pack) != is_embedded(name)
    folder = last.command.split()[2]
    assert (ROOT / folder).relative_to(ROOT).as_posix().startswith(out) and Path(folder).name == name
    assert name not in PROJECT_MODELS or ROOT / folder == model_folder(name)
    assert all(f" {folder} {folder} " in step.command for step in steps.values() if "models/train_" in step.command)
    card = last.command.split("--card ")[1]
    assert card in pack and Path(card).name == f"{name}.toml" and read_config(Purpose, ROOT / card)


def step(name: str, command: str, *needs: str) -> Any:
    return make.Step("train", name, command, needs)


def test_steps_run_after_those_that_they_need_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps = [step("c", "echo c >> out", "a", "b"), step("a", "echo a >> out"), step("b", "echo b >> out", "a")]
    assert make.run(steps, 2) and make.run(steps, 2)
    assert Path("out").read_text() == "a\nb\nc\n"


def test_independent_steps_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wait = "touch {}; while [ ! -e {} ]; do sleep 0.05; done"
    assert make.run([step("a", wait.format("1", "2")), step("b", wait.format("2", "1"))], 2)


def test_a_step_that_failed_runs_again_and_the_steps_that_need_it_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    steps = [
        step("a", "echo tried >> tries; echo missing; cat source"),
        step("b", "touch b", "a"),
        step("c", "touch c"),
    ]
    assert not make.run(steps, 1)
    printed = capsys.readouterr().out
    assert "a: failed, see runs/logs/a.part\nmissing\n" in printed
    assert "b: not started, because a has not finished" in printed
    assert Path("c").exists() and not Path("b").exists()
    Path("source").touch()
    assert make.run(steps, 1) and Path("b").exists() and Path("tries").read_text() == "tried\n" * 2


def test_the_commands_of_steps_run_with_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert make.run([step("a", "python -c 'import sys; print(sys.executable)'\ntreecrf --version")], 1)
    executable, version = Path("runs/logs/a.log").read_text().splitlines()
    assert executable == sys.executable and version == f"treecrf {treecrf.__version__}"


def test_settings_replace_those_of_every_training() -> None:
    trainings = [step for step in make.steps_of("es", "train.epochs=1") if "treecrf train " in step.command]
    assert len(trainings) == 3 and all("train.epochs=1 -o runs/" in step.command for step in trainings)


def test_an_encoder_in_bytes_is_nearly_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder_bytes = load_script("encoder_bytes")
    monkeypatch.setattr(encoder_bytes, "PART_BYTES", 10_000)
    generator = np.random.default_rng(1)
    weights = {name: generator.standard_normal((90, 60)).astype(np.float16) for name in "ab"}
    weights["bias"] = generator.standard_normal(90).astype(np.float16)
    (tmp_path / "whole").mkdir()
    save_file(weights, tmp_path / "whole" / "model.safetensors")
    (tmp_path / "whole" / "config.json").write_text("{}")
    encoder_bytes.pack(tmp_path / "whole", tmp_path / "bytes")
    encoder_bytes.unpack(tmp_path / "bytes", tmp_path / "again")
    assert len(list((tmp_path / "bytes").glob("*.gz"))) > 1
    assert (tmp_path / "again" / "config.json").read_text() == "{}"
    again = load_file(tmp_path / "again" / "model.safetensors")
    assert again.keys() == weights.keys() and np.array_equal(again["bias"], weights["bias"])
    for name in "ab":
        np.testing.assert_allclose(again[name], weights[name], atol=0.07)


def test_the_first_word_vectors_and_those_of_texts_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    word_vectors = load_script("word_vectors")
    monkeypatch.setattr(word_vectors, "FIRST_WORDS", 1)
    (tmp_path / "all.txt").write_text("".join(f"{word} 0.125 -1\n" for word in ("the", "of", "tree", "unk", "word")))
    (tmp_path / "text.txt").write_text("A Tree .\n")
    (tmp_path / "trees.mrg").write_text("(S (NN Word))\n")
    texts = [str(tmp_path / name) for name in ("text.txt", "trees.mrg")]
    word_vectors.main(str(tmp_path / "all.txt"), str(tmp_path / "out.txt.gz"), texts)
    vectors = read_vectors(tmp_path / "out.txt.gz")
    assert vectors.words == ["the", "tree", "unk", "word"]
    np.testing.assert_allclose(vectors.matrix, [[0.12, -1]] * 4)


def test_sentences_of_treebanks_become_distinct_lines_of_words(tmp_path: Path) -> None:
    trees = tmp_path / "trees.mrg"
    trees.write_text(
        "(S (X ad_hoc) (X grammar))\n(S (X see) (X a|b))\n(S (X alone))\n(S (X ad) (X hoc_grammar))\n(S (X more) (X _))"
    )
    script = [sys.executable, str(MODELS / "sentences.py"), str(trees), str(trees)]
    assert subprocess.run(script, check=True, capture_output=True, text=True).stdout == "ad hoc grammar\n"


def test_clauses_are_joined_with_punctuation_and_all_are_used(tmp_path: Path) -> None:
    trees = [tree for tree in read_trees(FIFTY) if not tree.is_leaf]
    script = [sys.executable, str(MODELS / "clauses.py"), FIFTY, str(tmp_path / "marked.mrg.gz")]
    subprocess.run(script, check=True)
    joined = list(read_trees(tmp_path / "marked.mrg.gz"))
    marks = ("COMMACATEGORY", "PERIODCATEGORY", "QUESTIONCATEGORY", "EXCLAMATIONCATEGORY")
    clauses = [child for tree in joined for child in tree.child_trees if child.label not in marks]
    assert clauses == [child for tree in trees for child in tree.child_trees]
    is_marked = [tree.tags[-1] in marks for tree in joined]
    assert 0 < sum(is_marked) < len(is_marked)
    assert all(tree in trees for tree, marked in zip(joined, is_marked, strict=True) if not marked)


def test_functions_are_the_most_frequent_ones_that_a_model_may_have() -> None:
    train_functions = load_script("train_functions")
    names = [f"{first}{second}" for first in "ABCDEFG" for second in "ABCDEFGHIJ"]
    counts = {name: train_functions.LEAST - 1 + number for number, name in enumerate(names)}
    trees = [Tree.parse(f"(S (NP-{name} (NN x)))") for name in names for _ in range(counts[name])]
    found = train_functions.FunctionCounts([trees])
    assert sorted(found.names) == names[-train_functions.MOST_NAMES :]
    few = train_functions.FunctionCounts([[tree for tree in trees if tree.child_trees[0].functions[0] < "AE"]])
    assert few.names == ["AB", "AC", "AD"]  # AA is too rare
