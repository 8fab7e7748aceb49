"""Training: a recipe and treebanks in, a parser out."""

from treecrf.aliases import old_names
from treecrf.training.config import DataConfig, Recipe, TrainConfig
from treecrf.training.loop import TrainingResult, fit
from treecrf.training.progress import Progress

__all__ = ["DataConfig", "Progress", "Recipe", "TrainConfig", "TrainingResult", "fit"]

__getattr__ = old_names(__name__, {"Outcome": "TrainingResult"})
