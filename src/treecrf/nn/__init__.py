"""The neural network: batches in, scores and losses out."""

from treecrf.data.batch import IGNORED, Batch, Sizes
from treecrf.nn.losses import Loss
from treecrf.nn.model import ModelConfig, SpanModel
from treecrf.nn.outputs import Scores

__all__ = ["IGNORED", "Batch", "Loss", "ModelConfig", "Scores", "Sizes", "SpanModel"]
