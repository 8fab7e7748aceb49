"""Training: a recipe and a treebank in, a parser out."""

from treecrf.training.config import DataConfig, Recipe, TrainConfig
from treecrf.training.loop import Outcome, fit
from treecrf.training.run import Progress

__all__ = ["DataConfig", "Outcome", "Progress", "Recipe", "TrainConfig", "fit"]
