"""A parser small enough to train in seconds, and a treebank for it."""

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from treecrf.atomic_io import unpack
from treecrf.data.subwords import SubwordTokenizer
from treecrf.data.vocabulary import Vocabulary
from treecrf.nn import ModelConfig, SpanModel
from treecrf.nn.bert import Bert, BertConfig
from treecrf.parser import Parser
from treecrf.training import DataConfig, Progress, Recipe, TrainConfig, fit
from treecrf.training.checkpoint import STATE

FIFTY = str(Path(__file__).parent / "samples" / "fifty.mrg")

MODEL = ModelConfig(
    word_size=16,
    char_embedding_size=8,
    char_size=16,
    lstm_size=24,
    lstm_layers=1,
    span_size=24,
    label_size=24,
    dropout=0.1,
)
TRAIN = TrainConfig(epochs=3, batch_words=100, learning_rate=0.01, log_steps=1)


def small_recipe(*, data: dict[str, Any] | None = None, model: dict[str, Any] | None = None, **train: Any) -> Recipe:
    """A recipe that trains on the fifty trees, with some settings changed."""
    return Recipe(
        data=replace(DataConfig(train=(FIFTY,), dev=(FIFTY,)), **(data or {})),
        model=replace(MODEL, **(model or {})),
        train=replace(TRAIN, **train),
    )


def random_parser(trees: list[Any], **model: Any) -> Parser:
    """A parser with random weights: its trees are odd, but none of its scores are tied."""
    vocabulary = Vocabulary.build(trees)
    return Parser(_drawn(SpanModel(replace(MODEL, **model), vocabulary.sizes)), vocabulary)


def random_bert_parser(trees: list[Any], tokenizer: Path) -> Parser:
    """A parser like `random_parser`, with a small BERT that reads the pieces of a real one's tokenizer."""
    vocabulary = Vocabulary.build(trees, normalization="plain")
    config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    model = replace(MODEL, encoder="transformer", transformer="tiny", transformer_layers=2, tag_head=True)
    network = _drawn(SpanModel(model, vocabulary.sizes, encoder=Bert(config)))
    return Parser(network, vocabulary, normalization="plain", pieces=SubwordTokenizer.load(tokenizer))


def _drawn(network: SpanModel) -> SpanModel:
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.5, generator=generator)
    return network.eval()


class _Stop(Exception):
    pass


def whole_and_resumed(recipe: Recipe, folder: Path) -> list[dict[str, Tensor]]:
    """The state that an uninterrupted run of a recipe ends in, and that of one which stopped in its second epoch."""

    def stop(progress: Progress) -> None:
        if progress.epoch == 2 and progress.batch == 3:
            raise _Stop

    fit(recipe, folder / "whole", device="cpu")
    with contextlib.suppress(_Stop):
        fit(recipe, folder / "resumed", device="cpu", watch=stop)
        raise AssertionError("the run did not stop")
    fit(recipe, folder / "resumed", device="cpu", resume=True)
    return [unpack(folder / name / STATE)[0] for name in ("whole", "resumed")]
