"""The network: arrays in, scores and losses out."""

from treecrf.data.batch import IGNORED, Batch, Sizes
from treecrf.nn.model import Loss, ModelConfig, SpanModel
from treecrf.nn.outputs import Scores

__all__ = ["IGNORED", "Batch", "Loss", "ModelConfig", "Scores", "Sizes", "SpanModel"]
