"""Training: a recipe and treebanks in, a parser out.

Here: set-up, the training loop, checkpoints, distillation, calibration, adaptation to a user's trees, packing of
models, and the tables of the paper. Not here: the network (`network.nn`) and reading of treebanks (`trees.treebank`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from treecrf.training.config import DataConfig, Recipe, TrainConfig
from treecrf.training.metrics_log import Progress

if TYPE_CHECKING:
    from treecrf.training.loop import TrainingResult, fit

__all__ = ["DataConfig", "Progress", "Recipe", "TrainConfig", "TrainingResult", "fit"]


def __getattr__(name: str) -> object:
    """Imports the loop on first use: it needs PyTorch, and reading settings does not."""
    if name not in __all__:
        raise AttributeError(f"module 'treecrf.training' has no attribute {name!r}")
    return getattr(import_module("treecrf.training.loop"), name)
