"""Learning curves: dev F of parsers that were trained on shares of the training trees."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from treecrf.training.config import Recipe
from treecrf.training.loop import TrainingResult
from treecrf.trees.treebank import read_trees, write_trees

Train = Callable[[Recipe, Path], TrainingResult]

FOLDER = "learning-curve"
SHARES = (0.25, 0.5)


def measure_learning_curve(
    recipe: Recipe, folder: Path, dev_f: float, *, train: Train, report: Callable[[str], object] = lambda _: None
) -> dict[int, float]:
    """Trains on each share of the gold trees, in folders below `folder`, and returns dev F by number of trees.

    `train` trains by a recipe in a folder. `dev_f` is the dev F of the run with all trees, the last point of the curve.
    A share is read more often, so that each run has as many steps as the run with all trees. A larger share contains
    the smaller ones. `data.parsed` and `data.partial` are in every run, and not in the numbers of trees.
    """
    curve: dict[int, float] = {}
    for share in SHARES:
        target = folder / FOLDER / f"{100 * share:.0f}-percent"
        target.mkdir(parents=True, exist_ok=True)
        share_recipe, trees, all_trees = _share_recipe(recipe, share, target)
        report(f"learning curve: {trees:,} trees, {share:.0%} of all")
        curve[trees] = train(share_recipe, target / "run").dev_f
    return curve | {all_trees: dev_f}


def _share_recipe(recipe: Recipe, share: float, target: Path) -> tuple[Recipe, int, int]:
    """Writes a share of each training file; returns the recipe with these files, its trees, and all trees."""
    paths: list[str] = []
    counts: list[tuple[int, int]] = []  # all trees of the file, trees of its share
    for number, path in enumerate(recipe.data.train, 1):
        trees = list(read_trees(path))
        order = list(range(len(trees)))
        random.Random(recipe.train.seed).shuffle(order)
        chosen = sorted(order[: max(1, round(share * len(trees)))])
        share_path = target / f"train-{number}.mrg"
        write_trees(share_path, (trees[index] for index in chosen))
        paths.append(str(share_path))
        counts.append((len(trees), len(chosen)))
    weights = recipe.data.weights or (1.0,) * (len(paths) + len(recipe.data.parsed) + len(recipe.data.partial))
    scaled = tuple(weight * total / part for weight, (total, part) in zip(weights, counts, strict=False))
    data = replace(recipe.data, train=tuple(paths), weights=scaled + weights[len(paths) :], test=())
    return replace(recipe, data=data), sum(part for _, part in counts), sum(total for total, _ in counts)
