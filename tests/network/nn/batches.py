"""Batches of toy sentences, and models small enough for enumeration."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from toygrammar import toy_trees
from treecrf.network.data.batch import Batch
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn import ModelConfig, SpanModel, TensorBatch
from treecrf.trees.tree import Tree

torch.set_num_threads(1)  # several threads take ten times as long on tiny tensors

TREES = toy_trees(12, seed=3)
VOCABULARY = Vocabulary.build(TREES)
NUMERICALIZER = Numericalizer(VOCABULARY)
SMALL = ModelConfig(
    word_size=8, char_embedding_size=4, char_size=6, lstm_size=10, lstm_layers=2, span_size=9, label_size=7, dropout=0.0
)


def batch_of(trees: Sequence[Tree], **options: Any) -> TensorBatch:
    """A batch as torch tensors, with the options of `host_batch_of`."""
    return TensorBatch.from_host(host_batch_of(trees, **options))


def host_batch_of(
    trees: Sequence[Tree], *, numericalizer: Numericalizer = NUMERICALIZER, with_tags: bool = False
) -> Batch:
    """A batch with gold trees as NumPy arrays."""
    return numericalizer.collate(
        [tree.words for tree in trees],
        tags=[tree.tags for tree in trees] if with_tags else None,
        gold=[numericalizer.vocabulary.encode_tree(tree) for tree in trees],
    )


def small_model(config: ModelConfig = SMALL, *, encoder: nn.Module | None = None, **changes: object) -> SpanModel:
    """A model with random scores; the scores of a new model are all zero."""
    torch.manual_seed(0)
    model = SpanModel(replace(config, **changes), VOCABULARY.sizes, encoder=encoder)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model
