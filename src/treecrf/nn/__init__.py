"""The network: numbers in, scores and losses out."""

from treecrf.nn.batch import IGNORED, Batch, Sizes
from treecrf.nn.model import Loss, ModelConfig, SpanModel
from treecrf.nn.scores import Decoded, Scores, decode

__all__ = ["IGNORED", "Batch", "Decoded", "Loss", "ModelConfig", "Scores", "Sizes", "SpanModel", "decode"]
