"""Word vectors before context: the word's own, its characters', its tag's, and what else is given."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.data.batch import Batch, Spelled
from treecrf.nn.lstm import Dropout, Layer


class WordVectors(nn.Module):
    """A trained vector for each word, plus, where there are any, frozen pretrained ones.

    The pretrained table has more words, whose trained vector is that of the unknown word. It is scaled to unit
    deviation, and the trained vectors then start at zero.
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

    def forward(self, words: Tensor, vectors: Tensor | None) -> Tensor:
        if self.pretrained is None:
            return _rows(self.trained, words)
        if vectors is None:
            raise ValueError("the batch has no rows of the pretrained table; encode it with the model's own vocabulary")
        return _rows(self.trained, words) + _rows(self.pretrained, vectors)


def _check_pretrained(pretrained: Tensor, rows: int, size: int) -> None:
    if pretrained.shape[1] != size:
        raise ValueError(
            f"the pretrained vectors have {pretrained.shape[1]} numbers, the trained ones {size}, and they are added; "
            f"set word_size to {pretrained.shape[1]}"
        )
    if len(pretrained) != rows:
        raise ValueError(f"{len(pretrained)} pretrained vectors; expected {rows}, as many as the vocabulary has words")


class CharLSTM(nn.Module):
    """One vector for each distinct word: the last states of an LSTM over its characters, one from each end."""

    def __init__(self, rows: int, embedding_size: int, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(rows, embedding_size)
        self.lstm = Layer(embedding_size, size // 2)

    def forward(self, spelled: Spelled) -> Tensor:
        """(u, size) of the distinct words."""
        out = self.lstm(_rows(self.embedding, spelled.chars), spelled.lengths)  # (u, c, 2, h)
        ends = out.flatten(0, 2).index_select(0, spelled.ends.flatten())
        return ends.view(len(spelled.chars), -1)  # type: ignore[no-any-return]


def _rows(table: nn.Embedding, ids: Tensor) -> Tensor:
    """The vectors of ids; `nn.Embedding` itself sorts the ids on its way back, which takes ten launches."""
    return table.weight.index_select(0, ids.flatten()).view(*ids.shape, -1)


class Inputs(nn.Module):
    """The parts of a word's vector, one beside another, (b, n + 2, size).

    In training each part is dropped as a whole, and those that stay are scaled up; `vanilla` drops single numbers.
    """

    def __init__(
        self,
        *,
        words: WordVectors,
        chars: CharLSTM | None = None,
        tags: nn.Embedding | None = None,
        dropout: float = 0.0,
        kind: Dropout = "shared",
    ) -> None:
        super().__init__()
        self.words = words
        self.chars = chars
        self.tags = tags
        self.dropout = dropout
        self.kind = kind

    def forward(self, batch: Batch, features: Tensor | None = None) -> Tensor:
        """`features` is one more part, computed elsewhere."""
        parts = [self.words(batch.words, batch.vectors)]
        if self.chars is not None:
            parts.append(self._spell(batch))
        if features is not None:
            parts.append(features)
        if self.tags is not None:
            if batch.tags is None:
                raise ValueError(
                    "the model reads part-of-speech tags and the batch has none; give the tags of each sentence"
                )
            parts.append(self.tags(batch.tags))
        if not self.training or not self.dropout:
            return torch.cat(parts, -1)
        if self.kind == "vanilla":
            return F.dropout(torch.cat(parts, -1), self.dropout)
        return torch.cat(drop_features(parts, self.dropout), -1)

    def _spell(self, batch: Batch) -> Tensor:
        if self.chars is None or batch.spellings is None:
            raise ValueError("the model reads characters and the batch has none; encode it with characters=True")
        vectors = self.chars(batch.spelled)
        return vectors.index_select(0, batch.spellings.flatten()).view(*batch.spellings.shape, -1)  # type: ignore[no-any-return]


def drop_features(parts: list[Tensor], dropout: float) -> list[Tensor]:
    """Drop each part of each word with probability `dropout`; k of n parts that stay are scaled by n / k."""
    like = parts[0]
    kept = torch.rand(len(parts), *like.shape[:2], 1, device=like.device) >= dropout
    scale = kept * (len(parts) / kept.sum(0).clamp(min=1))
    return [part * share for part, share in zip(parts, scale.to(like.dtype), strict=True)]
