"""Tests of learning curves."""

from functools import partial
from pathlib import Path

import pytest

from small import FIFTY, small_recipe
from treecrf.config import read_config
from treecrf.training import Recipe, fit
from treecrf.training.learning_curve import measure_learning_curve
from treecrf.trees.treebank import read_trees

TRAIN = partial(fit, resume=True, device="cpu")


def test_a_learning_curve_has_runs_with_nested_shares_of_the_trees(tmp_path: Path) -> None:
    recipe = small_recipe(epochs=1)
    lines: list[str] = []
    curve = measure_learning_curve(recipe, tmp_path, 77.0, train=TRAIN, report=lines.append)
    assert list(curve) == [12, 25, 50] and curve[50] == 77.0 and len(lines) == 2
    quarter, half = (
        set(map(str, read_trees(tmp_path / "learning-curve" / name / "train-1.mrg")))
        for name in ("25-percent", "50-percent")
    )
    assert quarter < half < set(map(str, read_trees(FIFTY)))


@pytest.mark.parametrize(("weights", "expected"), [((), (50 / 12, 1.0)), ((2.0, 0.5), (100 / 12, 0.5))])
def test_parsed_trees_are_in_every_run_with_their_own_weights(
    tmp_path: Path, weights: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    recipe = small_recipe(data={"parsed": (FIFTY,), "weights": weights}, epochs=1)
    curve = measure_learning_curve(recipe, tmp_path, 77.0, train=TRAIN)
    assert list(curve) == [12, 25, 50]
    data = read_config(Recipe, tmp_path / "learning-curve" / "25-percent" / "run" / "recipe.toml").data
    assert data.parsed == (FIFTY,) and data.weights == pytest.approx(expected)
