"""Shapes of small encoders."""

from typing import Any

from treecrf.network.data.model_config import BertConfig


def small_bert(
    pieces: int, size: int, layers: int, heads: int, inner: int, positions: int, **others: Any
) -> BertConfig:
    """The shape of a BERT with these sizes."""
    sizes = {"vocab_size": pieces, "hidden_size": size, "num_hidden_layers": layers, "num_attention_heads": heads}
    return BertConfig(**sizes, intermediate_size=inner, max_position_embeddings=positions, **others)
