"""Batches of toy sentences, and models small enough to check by hand."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from toygrammar import toy_trees
from treecrf.data.numericalize import Numericalizer
from treecrf.data.vocabulary import Vocabulary
from treecrf.nn import Batch, ModelConfig, SpanModel
from treecrf.tree import Tree

torch.set_num_threads(1)  # threads that wait for each other over tiny tensors take ten times as long

TREES = toy_trees(12, seed=3)
VOCABULARY = Vocabulary.build(TREES)
ENCODER = Numericalizer(VOCABULARY)
SMALL = ModelConfig(
    word_size=8, char_embedding_size=4, char_size=6, lstm_size=10, lstm_layers=2, span_size=9, label_size=7, dropout=0.0
)


def batch_of(trees: Sequence[Tree], *, encoder: Numericalizer = ENCODER, with_tags: bool = False) -> Batch:
    return encoder.collate(
        [tree.words for tree in trees],
        tags=[tree.tags for tree in trees] if with_tags else None,
        gold=[encoder.vocabulary.gold(tree) for tree in trees],
    )


def small_model(config: ModelConfig = SMALL, *, encoder: nn.Module | None = None, **changes: object) -> SpanModel:
    """A model whose scores are not all zero, as they are at first."""
    torch.manual_seed(0)
    model = SpanModel(replace(config, **changes), VOCABULARY.sizes, encoder=encoder)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model
