from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from network.data.letters import letters
from network.nn.batches import SMALL, TREES, VOCABULARY, host_batch_of, small_model
from network.nn.bert_models import BERT, BERT_CONFIGS, SEGMENT_SIZE, host_bert_batch
from toygrammar import toy_trees
from treecrf.network.data.batch import IGNORED, Batch
from treecrf.network.data.bucketing import Budget
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.padding import PaddedShape, pad_to, padded_shape
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn import SpanModel, TensorBatch
from treecrf.network.nn.bert import Bert
from treecrf.training.data_loader import Corpus, DataLoader
from treecrf.trees.tree import Tree

CAPITALIZED = [Tree.parse(str(tree).replace(" the)", " The)")) for tree in TREES]
LONG_WORDS = [Tree.parse(str(tree).replace(" the)", " extraordinarilylongword)")) for tree in TREES]


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
@pytest.mark.parametrize("extra", [(0, 0, 0, 0), (3, 0, 5, 2), (0, 4, 0, 0), (7, 9, 1, 3)])
def test_padding_changes_no_loss_and_no_gradient(loss: str, extra: tuple[int, ...]) -> None:
    batch = host_batch_of(CAPITALIZED, numericalizer=Numericalizer(VOCABULARY, capitals=True))
    assert batch.chars is not None and batch.capitals is not None and batch.capitals.any()
    shape = PaddedShape(
        *(size + more for size, more in zip((batch.size, batch.longest, *batch.chars.shape), extra, strict=True))
    )
    model = small_model(replace(SMALL, tag_head=True, tag_capitals=True), loss=loss).double()
    for plain, padded in zip(
        loss_and_gradients(model, batch), loss_and_gradients(model, pad_to(batch, shape)), strict=True
    ):
        torch.testing.assert_close(padded, plain)


def test_added_sentences_have_one_word_and_are_none_of_the_training_set() -> None:
    batch = replace(host_batch_of(TREES[:2]), sentence_ids=np.array([7, 4]))
    assert batch.chars is not None
    padded = pad_to(batch, PaddedShape(4, batch.longest, *batch.chars.shape))
    assert padded.sentence_ids is not None and padded.gold_tags is not None and padded.labels is not None
    assert padded.sentence_ids.tolist() == [7, 4, -1, -1] and padded.lengths.tolist()[2:] == [1, 1]
    assert (padded.gold_tags[2:] == IGNORED).all() and (padded.labels[len(batch.labels) :] == IGNORED).all()
    assert (
        pad_to(replace(batch, sentence_ids=None), PaddedShape(4, batch.longest, *batch.chars.shape)).sentence_ids
        is None
    )


def loss_and_gradients(model: SpanModel, batch: Batch) -> list[Tensor]:
    """The loss of a batch, and the gradients of all trained parameters."""
    model.zero_grad()
    total = model.loss(TensorBatch.from_host(batch)).total(word_count=batch.total_words, label_count=batch.total_labels)
    total.backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.requires_grad]
    return [total.detach(), *(gradient for gradient in gradients if gradient is not None)]


def enlarged(batch: Batch, *, sentences: int = 0, words: int = 0, segments: int = 0, pieces: int = 0) -> PaddedShape:
    """The shape of a batch with some dimensions enlarged."""
    assert batch.chars is not None and batch.pieces is not None
    distinct, chars = batch.chars.shape
    width = batch.pieces.shape[1] + pieces
    count = len(batch.pieces) + segments
    return PaddedShape(batch.size + sentences, batch.longest + words, distinct, chars, count, width)


@pytest.mark.parametrize("name", BERT_CONFIGS)
@pytest.mark.parametrize(
    "extra",
    [{}, {"pieces": 5}, {"sentences": 3, "segments": 3}, {"sentences": 2, "words": 4, "segments": 5, "pieces": 1}],
    ids=["unchanged", "pieces", "sentences", "all"],
)
@pytest.mark.parametrize(
    ("trees", "segment_size"),
    [
        (TREES, SEGMENT_SIZE),
        (TREES[:1], SEGMENT_SIZE),
        ([TREES[0], TREES[0]], SEGMENT_SIZE),
        (TREES, 24),
        (LONG_WORDS, 40),
    ],
    ids=["many", "one", "no padding", "segments", "long words"],
)
def test_padded_pieces_change_no_loss_and_no_gradient(
    name: str, extra: dict[str, Any], trees: list[Tree], segment_size: int
) -> None:
    batch = host_bert_batch(trees, segment_size=segment_size)
    assert batch.pieces is not None and (len(batch.pieces) > batch.size) == (segment_size < SEGMENT_SIZE)
    model = small_model(BERT_CONFIGS[name], encoder=Bert(BERT)).double().train()
    padded_batch = pad_to(batch, enlarged(batch, **extra))
    lengths = padded_batch.segment_lengths
    assert lengths is not None and lengths.min() >= 1  # attention over no pieces gives NaN
    plain, padded = loss_and_gradients(model, batch), loss_and_gradients(model, padded_batch)
    assert len(plain) == len(padded) > 10 and plain[0] > 0
    for one, other in zip(plain, padded, strict=True):
        torch.testing.assert_close(other, one)


def toy_loader(subwords: SubwordTokenizer | None, **changes: Any) -> DataLoader:
    trees = toy_trees(400)
    vocabulary = Vocabulary.build(trees)
    loader = DataLoader(
        corpus=Corpus.from_trees(trees, vocabulary),
        numericalizer=Numericalizer(vocabulary, subwords=subwords),
        budget=Budget(words=300),
        seed=1,
        fixed_shapes=True,
    )
    return replace(loader, **changes)


def batches_of(loader: DataLoader, epoch: int) -> list[TensorBatch]:
    return [batch for indices in loader.epoch_batches(epoch) for _, batch in loader.collate(indices).parts]


@pytest.mark.parametrize("weights", [None, [3.0] * 200 + [1.0] * 200], ids=["once", "weighted"])
@pytest.mark.parametrize("subwords", [None, letters()], ids=["words", "pieces"])
def test_batches_of_a_bucket_have_the_same_shape_in_almost_all_epochs(
    subwords: SubwordTokenizer | None, weights: list[float] | None
) -> None:
    loader = toy_loader(subwords, weights=weights)
    by_epoch = [[batch.shapes for batch in batches_of(loader, epoch)] for epoch in range(6)]
    before = {shapes for epoch in by_epoch[:-1] for shapes in epoch}
    assert len(before) <= 2 * len(loader._buckets)
    assert sum(shapes in before for shapes in by_epoch[-1]) >= 0.8 * len(by_epoch[-1])


@pytest.mark.parametrize("segment_size", [SEGMENT_SIZE, 41])
def test_padding_adds_few_pieces(segment_size: int) -> None:
    sizes = {}
    for fixed_shapes in (False, True):
        loader = toy_loader(letters(segment_size), fixed_shapes=fixed_shapes)
        pieces = [batch.pieces for batch in batches_of(loader, 0)]
        assert all(tensor is not None and tensor.shape[1] <= segment_size for tensor in pieces)
        sizes[fixed_shapes] = sum(tensor.numel() for tensor in pieces if tensor is not None)
    assert sizes[False] <= sizes[True] <= 1.15 * sizes[False]


def test_a_batch_of_another_size_than_the_others_of_its_bucket_keeps_its_size() -> None:
    batch = host_batch_of(TREES[:5])
    bucket = np.arange(len(TREES))
    lengths = [len(tree.words) for tree in TREES]
    shape = padded_shape(batch, bucket, lengths, cells=10**6, segment_size=0)
    assert shape.sentences in (5, 6)
    assert shape.words == max(lengths)


def test_charts_are_not_padded_beyond_the_budget() -> None:
    batch = host_batch_of(TREES[1:4])
    lengths = [len(tree.words) for tree in TREES]
    shape = padded_shape(batch, np.arange(len(TREES)), lengths, cells=3 * max(lengths) ** 2, segment_size=0)
    assert (shape.sentences, shape.words) == (3, max(lengths[1:4])) and max(lengths[1:4]) < max(lengths)
