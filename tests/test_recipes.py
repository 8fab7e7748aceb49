import io
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from project_models import PROJECT_MODELS
from small import FIFTY, random_bert_parser, random_parser
from treecrf.config import read_config, to_toml
from treecrf.network.data.vectors import read_vectors
from treecrf.network.nn import ModelConfig
from treecrf.network.runtime.weights import quantize_weights
from treecrf.parser import Parser
from treecrf.parser.models import find_folder, is_embedded
from treecrf.parser.models.model_card import ModelCard
from treecrf.parser.storage import load_parser_state, save_parser_state
from treecrf.training import Recipe, TrainConfig
from treecrf.training.export.card_files import save_card
from treecrf.training.reproduce.paper import BY_NAME, TABLES
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "recipes"
MODELS = RECIPES / "models"
FILES = sorted(RECIPES.glob("*/*.toml"))
CORPORA = ("ptb", "ctb5", "ctb7")
TREEBANKS = ["craft", "genia", "gum", "masc", "mctb", "ptb_sample", "redwoods", "sinica", "zhong"]
TREEBANKS += ["cess_cat", "cess_esp", "farpahc", "floresta", "greynir", "icepahc", "icon", "keyaki"]
LANGUAGES = ["ca", "es", "id", "is", "pt"]


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


ENGLISH_MODELS = ["en", "en-large", "en-lstm"]


@pytest.mark.parametrize("name", [*ENGLISH_MODELS, "en-layers", "en-large-layers"])
def test_english_models_and_their_teachers_have_the_same_gold_trees(name: str) -> None:
    student = load(name)
    ignored = {"lowercase": 0, "weights": (), "schemes": (), "taught": (), "told": 0}  # teachers are told nothing
    for teacher in ("en-teacher", "en-teacher-words"):
        data = load(teacher).data
        assert not data.parsed and not data.test  # models are chosen on dev alone
        assert replace(data, **ignored) == replace(student.data, **ignored, parsed=())
    assert student.data.parsed and len(student.data.weights) == len(student.data.train) + 1


def commands_of(name: str, *arguments: str) -> list[str]:
    """The commands of a model's script, with loops unrolled and with the commands of the scripts that it runs."""
    text = (MODELS / f"{name}.sh").read_text().partition("set -e")[2].replace("\\\n", " ")
    for number, argument in enumerate(arguments, start=1):
        text = text.replace(f"${number}", argument)
    loop = re.compile(r"for (\w+) in ([^;]+); do\n(.*?)done\n", re.DOTALL)
    text = loop.sub(lambda match: "".join(match[3].replace(f"${match[1]}", value) for value in match[2].split()), text)
    called = re.compile(r"sh recipes/models/(\S+)\.sh(.*)")
    return called.sub(lambda match: "\n".join(commands_of(match[1], *match[2].split())), text).splitlines()


@pytest.mark.parametrize("name", [*ENGLISH_MODELS, "en-layers", "en-large-layers", "zh", "fo", "ja", *LANGUAGES])
def test_the_script_of_a_distilled_model_makes_its_encoder_and_teachers(name: str) -> None:
    script, recipe = "\n".join(commands_of(name.removesuffix("-layers"))), load(name)
    runs = set(re.findall(r"(?<=\s)runs/\S+", script))
    assert {*filter(None, [recipe.model.transformer]), *recipe.train.teachers} < runs
    assert set(recipe.data.parsed) <= set(re.findall(r"-o (\S+)", script))
    assert all((RECIPES / file).is_file() for file in re.findall(r"recipes/(\S+)", script))


@pytest.mark.parametrize("name", LANGUAGES)
def test_models_of_other_languages_have_the_gold_trees_and_tags_of_their_teachers(name: str) -> None:
    student, lstm, e5 = load(name), load(f"{name}-lstm"), load(f"{name}-e5")
    assert student.data == lstm.data == e5.data
    assert student.model == replace(e5.model, transformer=f"runs/{name}-e5-1")  # some layers of a teacher
    assert student.data.language == name and student.model.tag_head and lstm.model.tag_head
    assert replace(lstm.model, tag_head=False) == ModelConfig()


@pytest.mark.parametrize("name", dict.fromkeys([*PROJECT_MODELS, "fo", "ja", *LANGUAGES]))
def test_the_script_of_a_model_starts_from_treebanks_vectors_and_encoders(name: str) -> None:
    lines = commands_of(name)
    made: set[str] = set()
    for command in (line.split() for line in lines if "treecrf " in line):
        sources = command[command.index("--model") + 1 :][:1] if "parse" in command else command[2:3]
        assert sources, "a model that this script has not trained"
        assert command[1] == "train" or sources[0] in made, command
        made |= set(command[command.index("-o") + 1 :][:1]) if "-o" in command else set()
        made |= set(command[3:4]) if command[1] == "pack" else set()
    out = f" src/treecrf/parser/models/{name} " if is_embedded(name) else f" packages/treecrf-{name} --package "
    assert any(f"treecrf pack runs/{name}" in line and out in line for line in lines)
    assert "treecrf pack " in lines[-1]  # which writes the card


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


def test_chinese_vectors_are_those_of_short_chinese_words_in_simplified_form(tmp_path: Path) -> None:
    words = {"</s>": 0.0, "wiki": 1.0, "圖書": 2.0, "图书": 3.0, "書": -2.0, "中华人民共和国": 4.0}
    data = b"%d 2\n" % len(words)
    for word, number in words.items():
        data += word.encode() + b" " + np.array([number, number / 2], np.float32).tobytes() + b"\n"
    archive, output = tmp_path / "synonyms.tar.gz", tmp_path / "vectors.txt.gz"
    with tarfile.open(archive, "w:gz") as package:
        member = tarfile.TarInfo("synonyms-3.10.2/synonyms/data/words.vector")
        member.size = len(data)
        package.addfile(member, io.BytesIO(data))
    subprocess.run([sys.executable, str(MODELS / "chinese_vectors.py"), archive, FIFTY, output], check=True)
    vectors = read_vectors(output)
    assert vectors.words == ["图书", "书"]
    np.testing.assert_allclose(vectors.matrix, [[1.26, 0.63], [-1.26, -0.63]])


def test_fitted_capitals_correct_tags_and_change_no_other_weight(tmp_path: Path) -> None:
    trees = [
        Tree.parse(f"(S (NP (NNP {name}) (NN {noun})) (VP (VBZ sees) (NP (NN {noun}) (NNP {name}))))")
        for name in ("Ann", "Bob", "Eve", "Tom", "Kim")
        for noun in ("trees", "words", "rules", "books", "cats")
    ]
    random_parser(trees, tag_head=True).save(tmp_path / "model")
    write_trees(tmp_path / "dev.mrg", trees)
    before = load_parser_state(tmp_path / "model")
    script = [sys.executable, str(MODELS / "fit_capitals.py"), *([tmp_path / "model"] * 2), tmp_path / "dev.mrg"]
    subprocess.run(script, check=True)
    after = load_parser_state(tmp_path / "model")
    assert after.weights.keys() - before.weights.keys() == {"capitals.weight"}
    assert all(np.array_equal(after.weights[name], weight) for name, weight in before.weights.items())
    predicted = list(Parser.load(tmp_path / "model").parse_many([tree.words for tree in trees]))
    tags = {(word, tag) for tree in predicted for word, tag in zip(tree.words, tree.tags, strict=True)}
    assert {tag for word, tag in tags if word.istitle()} == {"NNP"}
    assert "NNP" not in {tag for word, tag in tags if word.islower()}
    assert subprocess.run(script, check=False, capture_output=True).returncode == 1  # it has them already


def test_layers_and_scorers_are_trained_again_and_all_other_weights_keep_their_bytes(
    minilm: Path, tmp_path: Path
) -> None:
    trees = list(read_trees(FIFTY))[:8]
    write_trees(tmp_path / "trees.mrg", trees)
    random_bert_parser(trees, minilm).save(tmp_path / "teacher")
    packed = load_parser_state(tmp_path / "teacher")
    save_parser_state(tmp_path / "model", replace(packed, weights=quantize_weights(packed.weights)))
    shutil.copytree(tmp_path / "model", tmp_path / "out")
    save_card(ModelCard.load(find_folder("en")), tmp_path / "out")
    recipe = ["[data]", 'train = ["trees.mrg"]', 'dev = ["trees.mrg"]', 'normalization = "plain"']
    recipe += ["[train]", "epochs = 2", "learning_rate = 1e-3", 'teachers = ["teacher"]', "distillation_weight = 0.5"]
    (tmp_path / "recipe.toml").write_text("\n".join(recipe))
    command = [sys.executable, MODELS / "train_layers.py", "model", "out", "recipe.toml", "--run=run"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert re.fullmatch(r"dev F [\d.]+ after [12] epochs\n", printed)
    before, after = (load_parser_state(tmp_path / folder).weights for folder in ("model", "out"))
    assert before.keys() == after.keys()
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    trained = (".encoder.layer.", "transformer.mix.", "span_scorer.", "label_scorer.", "tagger.")
    assert changed and all(any(part in name for part in trained) for name in changed)
    assert {part for part in trained if any(part in name for name in changed)} == set(trained)
    assert list(Parser.load(tmp_path / "out").parse_many([tree.words for tree in trees]))
    assert 'teachers = ["teacher"]' in ModelCard.load(tmp_path / "out").recipe
