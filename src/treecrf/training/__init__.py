"""Training: a recipe and treebanks in, a parser out."""

from treecrf.training.config import DataConfig, Recipe, TrainConfig
from treecrf.training.loop import TrainingResult, fit
from treecrf.training.progress import Progress

__all__ = ["DataConfig", "Progress", "Recipe", "TrainConfig", "TrainingResult", "fit"]
