"""BERT on the CPU with products of 8-bit integers: the fast twin of `bert.py`, for inference."""

from collections.abc import Iterable
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.chart.threads import on_threads
from treecrf.nn.bert import Bert, Layer

try:
    from treecrf.nn import _int8
except ImportError:  # installed on a machine without a C compiler
    _compiled = False
else:
    _compiled = True

_TILE = 64  # columns; see int8.c
_LANES = 16
_THREAD_ROWS = 16  # pieces that keep a thread busy for a few times as long as it takes to wake it up


def obstacle(encoder: nn.Module) -> str | None:
    """Why an encoder cannot run on 8-bit integers here, if it cannot."""
    if not isinstance(encoder, Bert):
        return f"the encoder is a {type(encoder).__name__}; expected a plain BERT"
    if not _compiled:
        return "treecrf was installed without its compiled parts, as there was no C compiler"
    if not _int8.available():
        return "this processor has no dot products of 8-bit integers (AVX-512 VNNI)"
    config = encoder.config
    head = config.hidden_size // config.num_attention_heads
    if config.hidden_size % _TILE or config.intermediate_size % _TILE or head % _LANES:
        return (
            f"the encoder's sizes are {config.hidden_size} and {config.intermediate_size}, its heads' {head}; expected "
            f"multiples of {_TILE} and {_LANES}"
        )
    return None


class Int8Bert:
    """The encoder as it was when this was made, giving a weighted sum of its hidden states.

    Weights have 8 bits and a scale for each output; so has each row that meets them, which keeps a sentence's result
    free of its company.
    """

    @torch.no_grad()
    def __init__(self, bert: Bert) -> None:
        config, embeddings = bert.config, bert.embeddings
        self._sizes = (
            config.num_hidden_layers,
            config.hidden_size,
            config.num_attention_heads,
            config.intermediate_size,
            config.vocab_size,
            config.max_position_embeddings,
        )
        self._epsilon = config.layer_norm_eps
        places = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
        parts = [embeddings.word_embeddings.weight, places, *_norm(embeddings.LayerNorm)]
        for layer in cast("Iterable[Layer]", bert.encoder.layer):
            heads, attended = layer.attention.self, layer.attention.output
            parts += _pack(heads.query, heads.key, heads.value) + _pack(attended.dense) + _norm(attended.LayerNorm)
            parts += _pack(layer.intermediate.dense) + _pack(layer.output.dense) + _norm(layer.output.LayerNorm)
        self._parts = [part.detach().contiguous() for part in parts]

    def __call__(self, pieces: Tensor, lengths: Tensor, shares: Tensor) -> Tensor:
        """The sum of `shares` of the last hidden states of pieces (w, p), (w, p, d); in padding it means nothing."""
        pieces, lengths = pieces.contiguous(), lengths.contiguous()
        shares = F.pad(shares.detach(), (self._sizes[0] + 1 - len(shares), 0))
        out = torch.empty(*pieces.shape, self._sizes[1])
        table = torch.tensor([part.data_ptr() for part in self._parts])
        taken = torch.zeros(1, dtype=torch.int64)
        threads = max(1, min(torch.get_num_threads(), len(pieces), int(lengths.sum()) // _THREAD_ROWS))
        pointers = [tensor.data_ptr() for tensor in (pieces, lengths, table, shares, taken, out)]
        on_threads(_int8.encode, threads, *pieces.shape, *self._sizes, self._epsilon, *pointers)
        return out


def _pack(*linears: nn.Linear) -> list[Tensor]:
    """Linear layers side by side: their weights in tiles of integers, scales, sums of integers, and biases."""
    weight = torch.cat([linear.weight for linear in linears])
    scales = weight.abs().amax(1).clamp_min(torch.finfo(torch.float32).tiny) / 127
    whole = (weight / scales[:, None]).round().to(torch.int8)
    tiles = whole.view(len(whole) // _TILE, _TILE, -1, 4).transpose(1, 2)
    return [tiles, scales, whole.sum(1, dtype=torch.int64).float(), torch.cat([linear.bias for linear in linears])]


def _norm(norm: nn.LayerNorm) -> list[Tensor]:
    return [norm.weight, norm.bias]
