"""Writes the probabilities of a recipe's teachers to a file, from which several students learn (train.soft_targets).

    python recipes/models/soft_targets.py RECIPE OUT [KEY=VALUE ...]

The students must have the training files of the recipe.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from treecrf.config import read_config
from treecrf.training import Recipe
from treecrf.training.distillation import save_soft_targets
from treecrf.training.distributed import join_processes
from treecrf.training.optimizer import matmul_precision
from treecrf.training.setup import prepare_training


def main(path: str, out: Path, settings: Sequence[str]) -> None:
    recipe = read_config(Recipe, path, [*settings, "train.soft_targets="])
    with join_processes(None) as processes, matmul_precision(recipe.train.precision):
        setup = prepare_training(recipe, out.parent, processes)
        if setup.soft_targets is None:
            raise ValueError(f"{path} names no teachers (train.teachers)")
        save_soft_targets(out, setup.soft_targets, setup.parser, setup.loader.corpus)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
