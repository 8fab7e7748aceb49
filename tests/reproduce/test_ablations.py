from pathlib import Path

import pytest

from treecrf.config import read_config
from treecrf.reproduce.ablations import BY_NAME, DEV, MAIN, TABLES, rows_of
from treecrf.training import Recipe

RECIPES = Path(__file__).parents[2] / "recipes"
NAMED = {"vectors": "glove.6B.100d.txt", "unknown": "unk", "encoder": "bert-large-cased"}
MINILM = {**NAMED, "encoder": "sentence-transformers/all-MiniLM-L6-v2"}


def row_on(base, row, names=None):
    settings = [setting.format(**(names or NAMED)) for setting in BY_NAME[row].settings]
    return read_config(Recipe, RECIPES / f"{base}.toml", settings)


@pytest.mark.parametrize("corpus", ["ptb", "ctb5", "ctb7"])
@pytest.mark.parametrize("row", [row.name for row in DEV if row.mbr])
def test_the_recipes_of_the_dev_table_are_its_rows(corpus, row):
    name = row if corpus == "ptb" else f"{corpus}-{row}"
    assert read_config(Recipe, RECIPES / f"{name}.toml") == row_on(corpus, row)


@pytest.mark.parametrize(
    ("recipe", "base", "row", "names"),
    [
        ("ptb-glove", "ptb", "vectors", NAMED),
        ("ptb-bert", "ptb", "frozen", NAMED),
        ("ptb_sample-minilm", "ptb_sample", "fine-tuned", MINILM),
    ],
)
def test_the_recipes_of_the_test_table_are_its_rows(recipe, base, row, names):
    assert read_config(Recipe, RECIPES / f"{recipe}.toml") == row_on(base, row, names)


def test_what_takes_the_runs_of_another_row_changes_nothing_in_training():
    for row in BY_NAME.values():
        assert not row.trained_as or (row.runs_of == MAIN and not row.settings)


def test_every_table_has_rows():
    assert all(rows_of(table) for table in TABLES)
