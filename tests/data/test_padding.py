from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from data.letters import letters
from nn.batches import SMALL, TREES, batch_of, small_model
from nn.readers import BERT, READERS, WINDOW, bert_batch
from toygrammar import toy_trees
from treecrf.data.bucketing import Budget
from treecrf.data.numericalize import Numericalizer
from treecrf.data.padding import Room, pad_to, padded_shape
from treecrf.data.subwords import SubwordTokenizer
from treecrf.data.vocabulary import Vocabulary
from treecrf.nn import Batch, SpanModel
from treecrf.nn.bert import Bert
from treecrf.training.data_loader import Corpus, DataLoader
from treecrf.tree import Tree

LONG_WORDS = [Tree.parse(str(tree).replace(" the)", " extraordinarilylongword)")) for tree in TREES]


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
@pytest.mark.parametrize("extra", [(0, 0, 0, 0), (3, 0, 5, 2), (0, 4, 0, 0), (7, 9, 1, 3)])
def test_what_fills_a_batch_up_changes_no_loss_and_no_gradient(loss: str, extra: tuple[int, ...]) -> None:
    batch = batch_of(TREES)
    assert batch.chars is not None
    room = Room(
        *(have + more for have, more in zip((batch.size, batch.longest, *batch.chars.shape), extra, strict=True))
    )
    model = small_model(replace(SMALL, tag_head=True), loss=loss).double()
    for plain, filled in zip(learned(model, batch), learned(model, pad_to(batch, room)), strict=True):
        torch.testing.assert_close(filled, plain)


def learned(model: SpanModel, batch: Batch) -> list[Tensor]:
    """The loss of a batch, and the gradients of all that learns."""
    model.zero_grad()
    total = model.loss(batch).total(words=batch.total_words, labelled=batch.total_labels)
    total.backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.requires_grad]
    return [total.detach(), *(gradient for gradient in gradients if gradient is not None)]


def room_of(batch: Batch, *, sentences: int = 0, words: int = 0, windows: int = 0, pieces: int = 0) -> Room:
    """Room for a batch and more."""
    assert batch.chars is not None and batch.pieces is not None
    distinct, chars = batch.chars.shape
    width = batch.pieces.shape[1] + pieces
    return Room(batch.size + sentences, batch.longest + words, distinct, chars, len(batch.pieces) + windows, width)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "extra",
    [{}, {"pieces": 5}, {"sentences": 3, "windows": 3}, {"sentences": 2, "words": 4, "windows": 5, "pieces": 1}],
    ids=["as it is", "pieces", "sentences", "all"],
)
@pytest.mark.parametrize(
    ("trees", "window"),
    [(TREES, WINDOW), (TREES[:1], WINDOW), ([TREES[0], TREES[0]], WINDOW), (TREES, 24), (LONG_WORDS, 40)],
    ids=["many", "one", "no padding", "windows", "long words"],
)
def test_pieces_that_fill_a_batch_up_change_no_loss_and_no_gradient(
    reader: str, extra: dict[str, Any], trees: list[Tree], window: int
) -> None:
    batch = bert_batch(trees, window=window)
    assert batch.pieces is not None and (len(batch.pieces) > batch.size) == (window < WINDOW)
    model = small_model(READERS[reader], encoder=Bert(BERT)).double().train()
    full = pad_to(batch, room_of(batch, **extra))
    assert full.piece_lengths is not None and full.piece_lengths.min() >= 1  # attention to nothing is not a number
    plain, filled = learned(model, batch), learned(model, full)
    assert len(plain) == len(filled) > 10 and plain[0] > 0
    for one, other in zip(plain, filled, strict=True):
        torch.testing.assert_close(other, one)


def toy_feed(pieces: SubwordTokenizer | None, **changes: Any) -> DataLoader:
    trees = toy_trees(400)
    vocabulary = Vocabulary.build(trees)
    encoder = Numericalizer(vocabulary, pieces=pieces)
    feed = DataLoader(
        corpus=Corpus.encode(trees, vocabulary), encoder=encoder, budget=Budget(words=300), seed=1, alike=True
    )
    return replace(feed, **changes)


def batches_of(feed: DataLoader, epoch: int) -> list[Batch]:
    return [batch for members in feed.epoch(epoch) for _, batch in feed._step(members).parts]


@pytest.mark.parametrize("weights", [None, [3.0] * 200 + [1.0] * 200], ids=["once", "weighted"])
@pytest.mark.parametrize("pieces", [None, letters()], ids=["words", "pieces"])
def test_batches_of_a_bucket_have_one_shape_in_almost_all_epochs(
    pieces: SubwordTokenizer | None, weights: list[float] | None
) -> None:
    feed = toy_feed(pieces, weights=weights)
    by_epoch = [[batch.shapes for batch in batches_of(feed, epoch)] for epoch in range(6)]
    before = {shapes for epoch in by_epoch[:-1] for shapes in epoch}
    assert len(before) <= 2 * len(feed._buckets)
    assert sum(shapes in before for shapes in by_epoch[-1]) >= 0.8 * len(by_epoch[-1])


@pytest.mark.parametrize("window", [WINDOW, 41])
def test_little_is_added_to_what_a_transformer_reads(window: int) -> None:
    sizes = {}
    for alike in (False, True):
        pieces = [batch.pieces for batch in batches_of(toy_feed(letters(window), alike=alike), 0)]
        assert all(part is not None and part.shape[1] <= window for part in pieces)
        sizes[alike] = sum(part.numel() for part in pieces if part is not None)
    assert sizes[False] <= sizes[True] <= 1.15 * sizes[False]


def test_a_batch_that_is_no_equal_share_of_its_bucket_keeps_its_size() -> None:
    batch = batch_of(TREES[:5])
    bucket = np.arange(len(TREES))
    lengths = [len(tree.words) for tree in TREES]
    room = padded_shape(batch, bucket, lengths, cells=10**6, window=0)
    assert room.sentences in (5, 6)
    assert room.words == max(lengths)


def test_charts_are_not_filled_up_beyond_the_budget() -> None:
    batch = batch_of(TREES[1:4])
    lengths = [len(tree.words) for tree in TREES]
    room = padded_shape(batch, np.arange(len(TREES)), lengths, cells=3 * max(lengths) ** 2, window=0)
    assert (room.sentences, room.words) == (3, max(lengths[1:4])) and max(lengths[1:4]) < max(lengths)
