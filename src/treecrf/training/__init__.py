"""Training: a recipe and treebanks in, a parser out.

Here: set-up, the training loop, checkpoints, distillation, calibration, packing of models, and the tables of the
paper. Not here: the network (`network.nn`) and reading of treebanks (`trees.treebank`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecrf.training.config import DataConfig, Recipe, TrainConfig
    from treecrf.training.loop import TrainingResult, fit
    from treecrf.training.metrics_log import Progress

__all__ = ["DataConfig", "Progress", "Recipe", "TrainConfig", "TrainingResult", "fit"]


def __getattr__(name: str) -> object:
    """Imports a name on first use: the loop needs PyTorch, reading settings does not."""
    for module in ("config", "loop", "metrics_log") if name in __all__ else ():
        if hasattr(found := import_module(f"treecrf.training.{module}"), name):
            return getattr(found, name)
    raise AttributeError(f"module 'treecrf.training' has no attribute {name!r}")
