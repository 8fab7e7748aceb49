"""The neural network: batches in, scores and losses out."""

from treecrf.data.batch import IGNORED, Sizes
from treecrf.data.model_config import BertConfig, ModelConfig
from treecrf.nn.batch import TensorBatch
from treecrf.nn.losses import Loss
from treecrf.nn.model import SpanModel
from treecrf.nn.outputs import TensorScores

__all__ = ["IGNORED", "BertConfig", "Loss", "ModelConfig", "Sizes", "SpanModel", "TensorBatch", "TensorScores"]
