"""Training: a recipe and a treebank in, a parser out."""

from treecrf.train.loop import Outcome, Progress, fit
from treecrf.train.recipe import DataConfig, Recipe, TrainConfig

__all__ = ["DataConfig", "Outcome", "Progress", "Recipe", "TrainConfig", "fit"]
