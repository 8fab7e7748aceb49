"""Tests of the settings that are chosen by the number of trees."""

import json
from pathlib import Path

import pytest

from toygrammar import toy_trees, write_trees
from treecrf.config import read_config
from treecrf.training import Recipe
from treecrf.training.presets import FOLDER, choose_preset, read_folder_recipe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name has a comma, which is no list of folders."""
    folder = tmp_path / "a, b"
    folder.mkdir()
    for name, count in (("train.mrg", 20), ("dev.mrg", 5), ("test.mrg", 5)):
        write_trees(folder / name, toy_trees(count))
    return folder


@pytest.mark.parametrize(
    ("trees", "preset"),
    [(10, "hundreds"), (999, "hundreds"), (1000, "thousands"), (9999, "thousands"), (10_000, "tens-of-thousands")],
)
def test_the_number_of_trees_chooses_the_settings(trees: int, preset: str) -> None:
    assert choose_preset(trees) == preset
    recipe = read_config(Recipe, FOLDER / f"{preset}.toml", ["data.train=a", "data.dev=b"])
    assert recipe.model.tag_head


def test_a_folder_of_parts_is_a_recipe(folder: Path) -> None:
    recipe, preset, trees = read_folder_recipe(folder, ["train.seed=3"])
    assert (preset, trees, recipe.train.seed) == ("hundreds", 20, 3)
    data = recipe.data
    assert [data.train, data.dev, data.test] == [(str(folder / f"{part}.mrg"),) for part in ("train", "dev", "test")]


def test_files_on_the_command_line_replace_those_of_the_folder(folder: Path) -> None:
    recipe = read_folder_recipe(folder, ["data.dev=other.mrg"]).recipe
    assert recipe.data.dev == ("other.mrg",)


def test_epochs_are_longer_if_dev_has_more_trees_than_train(folder: Path) -> None:
    epochs = read_folder_recipe(folder).recipe.train.epochs
    write_trees(folder / "dev.mrg", toy_trees(60))
    recipe = read_folder_recipe(folder).recipe
    assert recipe.data.weights == (3.0,) and recipe.train.epochs == -(-epochs // 3)
    assert read_folder_recipe(folder, ["train.epochs=7"]).recipe.train.epochs == 7


def test_epochs_stay_as_they_are_if_there_are_parsed_trees(folder: Path) -> None:
    write_trees(folder / "dev.mrg", toy_trees(60))
    recipe = read_folder_recipe(folder, [f"data.parsed={json.dumps([str(folder / 'train.mrg')])}"]).recipe
    assert recipe.data.weights == () and len(recipe.data.parsed) == 1


def test_the_test_part_may_be_missing_and_the_others_may_not(folder: Path) -> None:
    (folder / "test.mrg").unlink()
    assert read_folder_recipe(folder).recipe.data.test == ()
    (folder / "dev.mrg").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no dev\.mrg and no dev\.mrg\.gz; `treecrf prepare split` makes"):
        read_folder_recipe(folder)
    (folder / "train.mrg.gz").touch()
    with pytest.raises(ValueError, match=r"both train\.mrg and train\.mrg\.gz"):
        read_folder_recipe(folder)
