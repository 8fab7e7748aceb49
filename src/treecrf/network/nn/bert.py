"""The BERT encoder, with the parameter names of Hugging Face's BertModel, so that it loads the same weights.

It computes hidden states and has one token type. It has no pooler and ignores the pooler's weights. An MPNet is a BERT
whose attention also scores the distance between two pieces, with scores that all layers share.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from treecrf.network.data.distances import FARTHEST, distance_buckets
from treecrf.network.data.model_config import BertConfig
from treecrf.network.nn.half_precision import runs_half_kernels

_MPNET_NAMES = {
    ".attention.attn.q.": ".attention.self.query.",
    ".attention.attn.k.": ".attention.self.key.",
    ".attention.attn.v.": ".attention.self.value.",
    ".attention.attn.o.": ".attention.output.dense.",
    ".attention.LayerNorm.": ".attention.output.LayerNorm.",
}


class Bert(nn.Module):
    """The encoder: embeddings, then self-attention layers."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        layers = nn.ModuleList([BertLayer(config) for _ in range(config.num_hidden_layers)])
        self.encoder = nn.ModuleDict({"layer": layers})
        if buckets := config.relative_attention_num_buckets:
            self.encoder["relative_attention_bias"] = nn.Embedding(buckets, config.num_attention_heads)
            self.register_buffer("_buckets", torch.from_numpy(distance_buckets(buckets)), persistent=False)
        self.register_load_state_dict_pre_hook(_ignore_pooler)  # type: ignore[no-untyped-call]

    @property
    def layers(self) -> nn.ModuleList:
        return cast("nn.ModuleList", self.encoder["layer"])

    def forward(
        self,
        pieces: Tensor,
        lengths: Tensor,
        piece_inputs: Tensor | None = None,
        conditions: Sequence[Tensor] | None = None,
    ) -> tuple[Tensor, ...]:
        """The hidden states (w, p, d) of pieces (w, p): of the embeddings, then of each layer.

        The first `lengths` (w,) pieces of each row count. `piece_inputs` (w, p, d) are added to the embeddings, and
        `conditions`, if there are any, to the hidden states of the embeddings and of each layer.
        """
        states = [_add(self.embeddings(pieces, piece_inputs), conditions, 0)]
        mask = (torch.arange(pieces.shape[1], device=pieces.device) < lengths[:, None])[:, None, None, :]
        distance_scores = self._distance_scores() if self.config.relative_attention_num_buckets else None
        if distance_scores is not None and not runs_half_kernels(states[0]):
            mask = _spread_over_pairs(distance_scores, pieces.shape[1]).masked_fill(~mask, -math.inf)
        for number, layer in enumerate(self.layers, 1):
            states.append(_add(layer(states[-1], mask, lengths, distance_scores), conditions, number))
        return tuple(states)

    def freeze_distances(self) -> None:
        """Leaves the scores of distances as they are pretrained: attention is then faster to train."""
        if self.config.relative_attention_num_buckets:
            self.encoder["relative_attention_bias"].requires_grad_(False)

    def _distance_scores(self) -> Tensor:
        """The scores (heads, 2 * FARTHEST + 1) of the distances from -FARTHEST to FARTHEST."""
        scores: Tensor = self.encoder["relative_attention_bias"](self._buckets)
        return scores.T.contiguous()


def _add(hidden: Tensor, conditions: Sequence[Tensor] | None, number: int) -> Tensor:
    return hidden if conditions is None else hidden + conditions[number]


def _spread_over_pairs(distance_scores: Tensor, width: int) -> Tensor:
    """The scores (heads, p, p) of the distances from each piece to each other piece."""
    positions = torch.arange(width, device=distance_scores.device)
    clipped = (positions - positions[:, None]).clamp(-FARTHEST, FARTHEST)
    return distance_scores[:, clipped + FARTHEST]


def from_mpnet(weights: Mapping[str, Tensor], first_position: int) -> dict[str, Tensor]:
    """Renames the weights of Hugging Face's MPNetModel for a BERT with distances."""
    renamed = {}
    for name, weight in weights.items():
        for theirs, ours in _MPNET_NAMES.items():
            name = name.replace(theirs, ours)
        renamed[name] = weight
    positions = "embeddings.position_embeddings.weight"
    renamed[positions] = renamed[positions][first_position:]
    renamed["embeddings.token_type_embeddings.weight"] = torch.zeros_like(renamed[positions][:1])
    return renamed


class BertEmbeddings(nn.Module):
    """The sum of the embeddings of a piece, its position and token type 0."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, pieces: Tensor, piece_inputs: Tensor | None = None) -> Tensor:
        position_vectors = self.position_embeddings.weight[: pieces.shape[1]] + self.token_type_embeddings.weight[0]
        vectors = self.word_embeddings(pieces) + position_vectors
        return self.dropout(self.LayerNorm(vectors if piece_inputs is None else vectors + piece_inputs))  # type: ignore[no-any-return]


class BertLayer(nn.Module):
    """Self-attention, then a feed-forward network on each piece.

    `mask` is true at pieces to attend to, the first `lengths` (w,) of each row, (w, 1, 1, p), or has numbers to add to
    the scores of pairs, (w, heads, p, p). Kernels read `lengths` and `distance_scores` instead.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        attention = {"self": BertSelfAttention(config), "output": BertOutput(config.hidden_size, config)}
        self.attention = nn.ModuleDict(attention)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.intermediate_size)})
        self.output = BertOutput(config.intermediate_size, config)

    def forward(self, hidden: Tensor, mask: Tensor, lengths: Tensor, distance_scores: Tensor | None) -> Tensor:
        attended = self.attention["output"](self.attention["self"](hidden, mask, lengths, distance_scores), hidden)
        return self.output(F.gelu(self.intermediate["dense"](attended)), attended)  # type: ignore[no-any-return]


class BertSelfAttention(nn.Module):
    """Multi-head self-attention, (w, p, d) to (w, p, d)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.dropout = config.attention_probs_dropout_prob
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden: Tensor, mask: Tensor, lengths: Tensor, distance_scores: Tensor | None) -> Tensor:
        query, key, value = (linear(hidden) for linear in (self.query, self.key, self.value))
        if runs_half_kernels(hidden):
            from treecrf.network.nn import triton_bert

            return triton_bert.attention(query, key, value, lengths, self.heads, distance_scores)
        # (w, heads, p, d / heads)
        query, key, value = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (query, key, value))
        dropout = self.dropout if self.training else 0.0
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        return context.transpose(1, 2).flatten(2)


class BertOutput(nn.Module):
    """The end of a block: a linear layer, the residual connection and layer normalization."""

    def __init__(self, input_size: int, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(input_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: Tensor, block_input: Tensor) -> Tensor:
        if runs_half_kernels(x):
            from treecrf.network.nn import triton_bert

            return triton_bert.add_and_normalize(self.dense(x), block_input, self.LayerNorm)
        return self.LayerNorm(self.dropout(self.dense(x)) + block_input)  # type: ignore[no-any-return]


def _ignore_pooler(module: nn.Module, weights: dict[str, Any], prefix: str, *rest: Any) -> None:
    for name in [name for name in weights if name.startswith(f"{prefix}pooler.")]:
        del weights[name]


_INITIALIZERS = {
    *("normal_", "uniform_", "orthogonal_", "kaiming_uniform_", "xavier_uniform_"),
    *("zeros_", "ones_", "zero_", "fill_"),
}


class SkipInit(TorchFunctionMode):
    """Modules created in this context allocate parameters without initializing them.

    Random initialization takes a second. The meta device would avoid it too, but it imports PyTorch's compiler.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _INITIALIZERS:
            return args[0] if args else kwargs["tensor"]
        if name == "linalg_qr":  # the slow step of `orthogonal_`
            return args[0], args[0][: args[0].shape[1]]
        return func(*args, **kwargs)
