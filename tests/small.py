"""A small recipe that trains in seconds, parsers with random weights, and fifty trees."""

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn import ModelConfig, SpanModel
from treecrf.network.nn.bert import Bert, BertConfig
from treecrf.parser import Parser
from treecrf.parser.storage import ParserConfig
from treecrf.training import DataConfig, Progress, Recipe, TrainConfig, fit
from treecrf.training.checkpoint import STATE, read_safetensors
from treecrf.trees.treebank.samples import FOLDER

FIFTY = str(FOLDER / "fifty.mrg")

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
    """Returns a recipe that trains on the fifty trees, with some settings changed."""
    return Recipe(
        data=replace(DataConfig(train=(FIFTY,), dev=(FIFTY,)), **(data or {})),
        model=replace(MODEL, **(model or {})),
        train=replace(TRAIN, **train),
    )


def random_parser(trees: list[Any], **model: Any) -> Parser:
    """Returns a parser with random weights. Its trees make no sense, but no two of its scores are equal."""
    vocabulary = Vocabulary.build(trees)
    return Parser(randomize(SpanModel(replace(MODEL, **model), vocabulary.sizes)), vocabulary)


def random_bert_parser(trees: list[Any], tokenizer: Path, **settings: Any) -> Parser:
    """Returns a parser with random weights and a small BERT, which uses the tokenizer of a real BERT."""
    vocabulary = Vocabulary.build(trees, normalization="plain")
    config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    model = replace(MODEL, encoder="transformer", transformer="tiny", transformer_layers=2, tag_head=True, **settings)
    span_model = randomize(SpanModel(model, vocabulary.sizes, encoder=Bert(config)))
    return Parser(
        span_model, vocabulary, ParserConfig(normalization="plain"), subwords=SubwordTokenizer.load(tokenizer)
    )


def randomize(model: SpanModel) -> SpanModel:
    """Gives a network random weights."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5, generator=generator)
    return model.eval()


class _Stop(Exception):
    pass


def whole_and_resumed(recipe: Recipe, folder: Path) -> list[dict[str, Tensor]]:
    """Returns the last checkpoint of an uninterrupted run, and that of a run that stopped in its second epoch."""

    def stop(progress: Progress) -> None:
        if progress.epoch == 2 and progress.batch == 3:
            raise _Stop

    fit(recipe, folder / "whole", device="cpu")
    with contextlib.suppress(_Stop):
        fit(recipe, folder / "resumed", device="cpu", watch=stop)
        raise AssertionError("the run did not stop")
    fit(recipe, folder / "resumed", device="cpu", resume=True)
    return [read_safetensors(folder / name / STATE)[0] for name in ("whole", "resumed")]
