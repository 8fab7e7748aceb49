"""The neural network: batches in, scores and losses out."""

from treecrf.network.data.batch import IGNORED, Sizes
from treecrf.network.data.model_config import BertConfig, ModelConfig
from treecrf.network.nn.batch import TensorBatch
from treecrf.network.nn.losses import Loss
from treecrf.network.nn.model import SpanModel
from treecrf.network.nn.scorers import TensorScores

__all__ = ["IGNORED", "BertConfig", "Loss", "ModelConfig", "Sizes", "SpanModel", "TensorBatch", "TensorScores"]
