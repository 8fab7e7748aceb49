"""Training: a recipe and a treebank in, a parser out."""

from treecrf.train.loop import Outcome, fit
from treecrf.train.recipe import DataConfig, Recipe, TrainConfig
from treecrf.train.run import Progress

__all__ = ["DataConfig", "Outcome", "Progress", "Recipe", "TrainConfig", "fit"]
