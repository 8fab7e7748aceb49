from pathlib import Path

import pytest

from treecrf.config import read_config
from treecrf.training import Recipe
from treecrf.training.reproduce.ablations import BY_NAME, DEV, MAIN, TABLES, rows_of

RECIPES = Path(__file__).parents[3] / "recipes"
INPUTS = {"vectors": "glove.6B.100d.txt", "unknown": "unk", "encoder": "bert-large-cased"}
MINILM = {**INPUTS, "encoder": "sentence-transformers/all-MiniLM-L6-v2"}


def recipe_of(base, row, names=None):
    settings = [setting.format(**(names or INPUTS)) for setting in BY_NAME[row].settings]
    return read_config(Recipe, RECIPES / f"{base}.toml", settings)


@pytest.mark.parametrize("corpus", ["ptb", "ctb5", "ctb7"])
@pytest.mark.parametrize("row", [row.name for row in DEV if row.mbr])
def test_recipes_of_the_dev_table_equal_its_rows(corpus, row):
    name = row if corpus == "ptb" else f"{corpus}-{row}"
    assert read_config(Recipe, RECIPES / f"{name}.toml") == recipe_of(corpus, row)


@pytest.mark.parametrize(
    ("recipe", "base", "row", "names"),
    [
        ("ptb-glove", "ptb", "vectors", INPUTS),
        ("ptb-bert", "ptb", "frozen", INPUTS),
        ("ptb_sample-minilm", "ptb_sample", "fine-tuned", MINILM),
    ],
)
def test_recipes_of_the_test_table_equal_its_rows(recipe, base, row, names):
    assert read_config(Recipe, RECIPES / f"{recipe}.toml") == recipe_of(base, row, names)


def test_rows_that_share_runs_have_no_settings():
    for row in BY_NAME.values():
        assert not row.shares_runs_with or (row.trained_name == MAIN and not row.settings)


def test_every_table_has_rows():
    assert all(rows_of(table) for table in TABLES)
