"""The encoder of BERT, with the parameter names of Hugging Face's BertModel, so that their weights are ours.

Only what a parser uses: hidden states, of one segment. The pooler, which sums up a whole text, is left out, and
ignored in weights that have it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """The shape of an encoder, as its config.json has it."""

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0

    @staticmethod
    def of(values: Mapping[str, Any]) -> "BertConfig | None":
        """The config that a config.json holds, or None if it is not one of a plain BERT."""
        plain = (
            values.get("model_type") == "bert"
            and values.get("hidden_act", "gelu") == "gelu"
            and values.get("position_embedding_type", "absolute") == "absolute"
            and not values.get("is_decoder")
            and not values.get("add_cross_attention")
        )
        known = {field.name for field in fields(BertConfig)}
        return BertConfig(**{name: value for name, value in values.items() if name in known}) if plain else None

    def save(self, folder: str | Path) -> None:
        """Write the config.json that `of` and Hugging Face understand."""
        values = {"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", **asdict(self)}
        Path(folder, "config.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


class Bert(nn.Module):
    """Pieces (w, p), of which the first `lengths` (w,) of each row count, to hidden states (w, p, d).

    There is one of the embeddings and one of each layer after it.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Layers(config)
        self.register_load_state_dict_pre_hook(_ignore_pooler)  # type: ignore[no-untyped-call]

    def forward(self, pieces: Tensor, lengths: Tensor, added: Tensor | None = None) -> tuple[Tensor, ...]:
        """The hidden states of pieces (w, p), to whose own vectors `added` (w, p, d) is added."""
        mask = torch.arange(pieces.shape[1], device=pieces.device) < lengths[:, None]
        return self.encoder(self.embeddings(pieces, added), mask[:, None, None, :])  # type: ignore[no-any-return]


class Embeddings(nn.Module):
    """Each piece's own vector, its position's, and that of the first segment."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, pieces: Tensor, added: Tensor | None = None) -> Tensor:
        places = self.position_embeddings.weight[: pieces.shape[1]] + self.token_type_embeddings.weight[0]
        vectors = self.word_embeddings(pieces) + places
        return self.dropout(self.LayerNorm(vectors if added is None else vectors + added))  # type: ignore[no-any-return]


class Layers(nn.Module):
    """Layers one after the other: what went into the first, and what came out of each."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.layer = nn.ModuleList([Layer(config) for _ in range(config.num_hidden_layers)])

    def forward(self, hidden: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        states = [hidden]
        for layer in self.layer:
            states.append(layer(states[-1], mask))
        return tuple(states)


class Layer(nn.Module):
    """Attention, then a feed-forward network on each piece."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = Residual(config.intermediate_size, config)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        attended = self.attention(hidden, mask)
        return self.output(self.intermediate(attended), attended)  # type: ignore[no-any-return]


class Intermediate(nn.Module):
    """The inner layer of the feed-forward network."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.dense(x))


class Attention(nn.Module):
    """What each piece takes from those that `mask` (w, 1, 1, p) lets it see, added to it."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.self = Heads(config)
        self.output = Residual(config.hidden_size, config)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.self(hidden, mask), hidden)  # type: ignore[no-any-return]


class Heads(nn.Module):
    """The heads of attention side by side, (w, p, d) to (w, p, d)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        if config.hidden_size % config.num_attention_heads:
            raise ValueError(
                f"hidden_size is {config.hidden_size}; expected a multiple of the {config.num_attention_heads} heads"
            )
        self.heads = config.num_attention_heads
        self.dropout = config.attention_probs_dropout_prob
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (
            linear(hidden).unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (w, heads, p, d / heads)
            for linear in (self.query, self.key, self.value)
        )
        dropout = self.dropout if self.training else 0.0
        taken = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        return taken.transpose(1, 2).flatten(2)


class Residual(nn.Module):
    """The end of a block: a product, added to what went into the block, and normalized."""

    def __init__(self, input_size: int, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(input_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: Tensor, before: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(x)) + before)  # type: ignore[no-any-return]


def _ignore_pooler(module: nn.Module, weights: dict[str, Any], prefix: str, *rest: Any) -> None:
    for name in [name for name in weights if name.startswith(f"{prefix}pooler.")]:
        del weights[name]
