"""Cross-validation: every tree of a treebank is predicted by a parser that was not trained on it."""

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from treecrf.training.checkpoint import read_rules
from treecrf.training.config import DataConfig, Recipe
from treecrf.training.learning_curve import Train
from treecrf.trees.bootstrap import Interval
from treecrf.trees.evalb import evaluate
from treecrf.trees.evalb.bootstrap import f1_interval
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees
from treecrf.trees.treebank.random_split import runs_of_trees

TREES, PREDICTED = "trees.mrg", "predicted.mrg"
_DEV_RUNS = 8  # one of so many runs that are not left out chooses the epoch


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """The scores of left-out trees."""

    trees: int
    fold_f: list[float]  # by fold
    f: float  # over all trees
    interval: Interval

    @property
    def mean_f(self) -> float:
        return statistics.fmean(self.fold_f)

    @property
    def deviation(self) -> float:
        """The standard deviation between folds."""
        return statistics.stdev(self.fold_f)


def cross_validate(
    recipe: Recipe, folder: Path, folds: int, *, train: Train, report: Callable[[str], object] = lambda _: None
) -> CrossValidation:
    """Trains a parser for each fold, in folders below `folder`, and scores the trees that it was not trained on.

    `train` trains by a recipe in a folder, and continues a run that ended early.
    The trees of train, dev and test are put together. Runs of consecutive trees stay in one fold. `data.parsed` and
    `data.partial` are in every training. `folder` gets all trees and the predicted ones.
    """
    data = recipe.data
    trees = [tree for path in (*data.train, *data.dev, *data.test) for tree in read_trees(path)]
    fold_of_tree = assign_folds(len(trees), folds, seed=recipe.train.seed)
    predicted: list[Tree | None] = [None] * len(trees)
    fold_f: list[float] = []
    for fold in range(folds):
        left_out = [number for number, own_fold in enumerate(fold_of_tree) if own_fold == fold]
        report(f"fold {fold + 1} of {folds}: {len(left_out):,} trees are left out")
        target = folder / f"fold-{fold + 1}"
        fold_data = _write_fold(data, trees, fold_of_tree, fold, target)
        run = target / "run"
        result = train(replace(recipe, data=fold_data), run)
        assert result.test is not None and result.test_trees is not None  # each fold has test trees
        fold_f.append(result.test.f1)
        for number, tree in zip(left_out, result.test_trees, strict=True):
            predicted[number] = tree
    found = [tree for tree in predicted if tree is not None]
    write_trees(folder / TREES, trees)
    write_trees(folder / PREDICTED, found)
    score = evaluate(trees, found, rules=read_rules(run, recipe))
    return CrossValidation(trees=len(trees), fold_f=fold_f, f=score.f1, interval=f1_interval(score))


def assign_folds(trees: int, folds: int, *, seed: int) -> list[int]:
    """The fold of each tree, drawn at random for runs of consecutive trees; folds have about as many trees each.

    >>> assign_folds(6, 3, seed=1)
    [2, 0, 2, 0, 1, 1]
    """
    runs = [len(run) for run in runs_of_trees(range(trees))]
    if len(runs) < folds:
        raise ValueError(f"{trees:,} trees are too few for {folds} folds; choose fewer folds or add trees")
    fold_of_run = [number % folds for number in range(len(runs))]
    random.Random(seed).shuffle(fold_of_run)
    return [fold for fold, size in zip(fold_of_run, runs, strict=True) for _ in range(size)]


def _write_fold(data: DataConfig, trees: list[Tree], fold_of_tree: list[int], fold: int, target: Path) -> DataConfig:
    """Writes train, dev and test of a fold, and returns the data settings with these files."""
    parts: dict[str, list[Tree]] = {"train": [], "dev": [], "test": []}
    parts["test"] = [tree for tree, own_fold in zip(trees, fold_of_tree, strict=True) if own_fold == fold]
    rest = [tree for tree, own_fold in zip(trees, fold_of_tree, strict=True) if own_fold != fold]
    for number, run in enumerate(runs_of_trees(rest)):
        parts["dev" if number % _DEV_RUNS == _DEV_RUNS // 2 else "train"] += run
    if not parts["dev"]:
        raise ValueError(f"{len(trees):,} trees are too few for cross-validation; add trees")
    target.mkdir(parents=True, exist_ok=True)
    paths = {part: (target / f"{part}.mrg") for part in parts}
    for part, path in paths.items():
        write_trees(path, parts[part])
    weights = data.weights[: len(data.train)]
    if len(set(weights)) > 1:
        raise ValueError(
            f"data.weights has {weights} for the files of data.train; expected equal weights: cross-validation puts "
            "the files together"
        )
    return replace(
        data,
        train=(str(paths["train"]),),
        dev=(str(paths["dev"]),),
        test=(str(paths["test"]),),
        weights=(weights[0], *data.weights[len(data.train) :]) if weights else (),
    )
