"""Context-independent word vectors: embeddings of words, characters and tags, and further features."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.network.data.batch import SPECIAL, Sizes
from treecrf.network.data.model_config import ModelConfig
from treecrf.network.nn.batch import TensorBatch
from treecrf.network.nn.lstm import BiLSTMLayer


class WordVectors(nn.Module):
    """The sum of a trained vector and, if there is a pretrained table, a frozen pretrained vector.

    The pretrained table has additional words, which share the trained vector of unknown words. The table is scaled to
    unit standard deviation, and the trained vectors are then initialized with zeros.
    """

    def __init__(self, rows: int, size: int, *, vectors: int = 0, pretrained: Tensor | None = None) -> None:
        super().__init__()
        self.trained = nn.Embedding(rows, size)
        self.pretrained: nn.Embedding | None = None
        if not vectors:
            return
        nn.init.zeros_(self.trained.weight)
        self.pretrained = nn.Embedding(vectors, size, _weight=torch.zeros(vectors, size)).requires_grad_(False)
        if pretrained is not None:
            _check_pretrained(pretrained, vectors, size)
            self.pretrained.weight.copy_(pretrained / pretrained.std())

    def forward(self, batch: TensorBatch) -> Tensor:
        vectors = _select(self.trained.weight, batch.words)
        if self.pretrained is None:
            return vectors
        return vectors + _select(self.pretrained.weight, *batch.require("vectors"))


def _check_pretrained(pretrained: Tensor, rows: int, size: int) -> None:
    if pretrained.shape[1] != size:
        raise ValueError(
            f"the pretrained vectors have {pretrained.shape[1]} numbers, the trained ones {size}, and they are added; "
            f"set word_size to {pretrained.shape[1]}"
        )
    if len(pretrained) != rows:
        raise ValueError(f"{len(pretrained)} pretrained vectors; expected {rows}, as many as the vocabulary has words")


class CharLSTM(nn.Module):
    """Vectors of words, (b, n + 2, size): the final states of a bidirectional LSTM over the characters of each."""

    def __init__(self, rows: int, embedding_size: int, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(rows, embedding_size)
        self.lstm = BiLSTMLayer(embedding_size, size // 2)

    def forward(self, batch: TensorBatch) -> Tensor:
        chars, final_states, rows = batch.require("chars", "char_final_states", "char_rows")
        states = self.lstm(_select(self.embedding.weight, chars), batch.char_sequences)  # (u, c, 2, h)
        return _select(_select(states.flatten(0, 2), final_states).flatten(1), rows)


def _select(rows: Tensor, ids: Tensor) -> Tensor:
    """The rows of ids; the backward pass of `nn.Embedding` itself would sort the ids, in ten kernel launches."""
    return rows.index_select(0, ids.flatten()).view(*ids.shape, -1)


class WordInputs(nn.Module):
    """The concatenated features of each word, (b, n + 2, size).

    Dropout drops each feature as a whole and scales up the others; of kind `vanilla`, it drops single numbers.
    """

    def __init__(self, config: ModelConfig, sizes: Sizes, pretrained: Tensor | None = None) -> None:
        super().__init__()
        self.words = WordVectors(sizes.words, config.word_size, vectors=sizes.vectors, pretrained=pretrained)
        has_chars = config.char_size > 0
        self.chars = CharLSTM(sizes.chars, config.char_embedding_size, config.char_size) if has_chars else None
        self.tags = nn.Embedding(len(SPECIAL) + sizes.tags, config.tag_size) if config.tag_size else None
        self.dropout = config.dropout
        self.kind = config.dropout_kind

    def forward(self, batch: TensorBatch, extra: Tensor | None = None) -> Tensor:
        """`extra` (b, n + 2, d) is one more feature."""
        features = [self.words(batch)]
        if self.chars is not None:
            features.append(self.chars(batch))
        if extra is not None:
            features.append(extra)
        if self.tags is not None:
            features.append(self.tags(*batch.require("tags")))
        if not self.training or not self.dropout:
            return torch.cat(features, -1)
        if self.kind == "vanilla":
            return F.dropout(torch.cat(features, -1), self.dropout)
        return torch.cat(drop_features(features, self.dropout), -1)


def drop_features(features: list[Tensor], dropout: float) -> list[Tensor]:
    """Drops each feature of each word with probability `dropout`; if k of n remain, they are scaled by n / k."""
    first = features[0]
    mask = torch.rand(len(features), *first.shape[:2], 1, device=first.device) >= dropout
    scales = mask * (len(features) / mask.sum(0).clamp(min=1))
    return [feature * scale for feature, scale in zip(features, scales.to(first.dtype), strict=True)]
