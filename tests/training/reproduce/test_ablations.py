import operator
from pathlib import Path

import pytest

from treecrf.config import differences, read_config
from treecrf.training import DataConfig, Recipe
from treecrf.training.reproduce import paper
from treecrf.training.reproduce.ablations import BY_NAME, MAIN, TABLES

RECIPES = Path(__file__).parents[3] / "recipes"
INPUTS = {"vectors": "glove.6B.100d.txt", "unknown": "unk", "encoder": "bert-large-cased"}
ROW_SETTINGS = {
    "one-stage-margin": {"model.loss": "one-stage-margin"},
    "one-stage-crf": {"model.loss": "one-stage-crf"},
    "two-stage": {},
    "minus": {"model.scorer": "minus"},
    "vanilla-dropout": {"model.dropout_kind": "vanilla"},
    "vectors": {"data.vectors": "glove.6B.100d.txt", "data.unknown_vector": "unk"},
    "frozen": {"model.transformer": "bert-large-cased", "model.char_size": 0},
}
MINILM = {**INPUTS, "encoder": "sentence-transformers/all-MiniLM-L6-v2"}


def recipe_of(base, row, names=None):
    settings = [setting.format(**(names or INPUTS)) for setting in BY_NAME[row].settings]
    return read_config(Recipe, RECIPES / f"{base}.toml", settings)


@pytest.mark.parametrize("corpus", ["ptb", "ctb5", "ctb7"])
@pytest.mark.parametrize("row", ROW_SETTINGS)
def test_a_row_differs_from_the_recipe_of_the_corpus_in_its_settings_alone(corpus, row):
    recipe, base = recipe_of(f"paper/{corpus}", row), read_config(Recipe, RECIPES / "paper" / f"{corpus}.toml")
    changed = {name: operator.attrgetter(name)(recipe) for name in differences(base, recipe)}
    assert changed == ROW_SETTINGS[row]


@pytest.mark.parametrize("corpus", ["ptb", "ctb5", "ctb7"])
def test_the_recipe_of_a_corpus_has_the_settings_of_its_plan(corpus):
    settings = dict(setting.removeprefix("data.").split("=") for setting in paper.SETTINGS[corpus])
    files = {part: (f"data/{corpus}/{part}.mrg",) for part in ("train", "dev", "test")}
    recipe = read_config(Recipe, RECIPES / "paper" / f"{corpus}.toml")
    assert recipe == Recipe(data=DataConfig(**files, **settings))


def test_a_recipe_for_fine_tuning_equals_its_row():
    recipe = read_config(Recipe, RECIPES / "treebanks" / "ptb_sample-minilm.toml")
    assert recipe == recipe_of("treebanks/ptb_sample", "fine-tuned", MINILM)


def test_rows_that_share_runs_have_no_settings():
    for row in BY_NAME.values():
        assert not row.shares_runs_with or (row.trained_name == MAIN and not row.settings)


def test_every_table_has_rows():
    assert TABLES and all(TABLES.values())
