"""Recipes for a folder of train, dev and test trees, with settings that fit the number of training trees."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from treecrf.config import read_config
from treecrf.training.config import Recipe
from treecrf.trees.treebank import read_trees

FOLDER = Path(__file__).parent / "settings"
_LIMITS = {"hundreds": 1_000, "thousands": 10_000}  # a preset is for fewer trees than its limit
_LARGEST = "tens-of-thousands"
_ENDINGS = (".mrg", ".mrg.gz")


class FolderRecipe(NamedTuple):
    """The recipe of a folder of trees, and why its settings were chosen."""

    recipe: Recipe
    preset: str
    trees: int


def choose_preset(trees: int) -> str:
    """Returns the name of the settings for a number of training trees.

    >>> choose_preset(240), choose_preset(40_000)
    ('hundreds', 'tens-of-thousands')
    """
    return next((name for name, limit in _LIMITS.items() if trees < limit), _LARGEST)


def read_folder_recipe(folder: Path, overrides: Sequence[str] = ()) -> FolderRecipe:
    """Builds the recipe of a folder with train.mrg, dev.mrg and perhaps test.mrg, plain or gzipped.

    `section.setting=value` overrides replace settings.
    """
    files = {part: _find_file(folder, part, is_required=part != "test") for part in ("train", "dev", "test")}
    names = {override.partition("=")[0].strip() for override in overrides}
    # as JSON, which is also TOML: a path may contain a comma
    own_files = [f"data.{part}={json.dumps([str(path)])}" for part, path in files.items() if path is not None]
    own_files = [setting for setting in own_files if setting.partition("=")[0] not in names]
    trees, dev_trees = (_count_trees(files[part]) for part in ("train", "dev"))
    preset = choose_preset(trees)
    recipe = read_config(Recipe, FOLDER / f"{preset}.toml", [*own_files, *overrides])
    if not {"train.epochs", "data.weights", "data.train", "data.parsed", "data.partial", "data.dev"} & names:
        recipe = limit_dev_time(recipe, trees, dev_trees)
    return FolderRecipe(recipe, preset, trees)


def limit_dev_time(recipe: Recipe, trees: int, dev_trees: int) -> Recipe:
    """Makes fewer and longer epochs if dev has more trees than train: dev is parsed after each epoch."""
    repeats = math.ceil(dev_trees / max(trees, 1))
    if repeats <= 1:
        return recipe
    epochs, patience = (math.ceil(number / repeats) for number in (recipe.train.epochs, recipe.train.patience))
    return replace(
        recipe,
        data=replace(recipe.data, weights=(float(repeats),)),
        train=replace(recipe.train, epochs=epochs, patience=patience),
    )


def _find_file(folder: Path, part: str, *, is_required: bool) -> Path | None:
    paths = [path for path in (folder / f"{part}{ending}" for ending in _ENDINGS) if path.is_file()]
    if len(paths) > 1:
        raise ValueError(f"{folder} has both {paths[0].name} and {paths[1].name}; expected one of them")
    if not paths and is_required:
        raise FileNotFoundError(
            f"{folder} has no {part}.mrg and no {part}.mrg.gz; `treecrf prepare split` makes train.mrg, dev.mrg and "
            "test.mrg from files of trees"
        )
    return paths[0] if paths else None


def _count_trees(path: Path | None) -> int:
    return 0 if path is None else sum(1 for _ in read_trees(path))
