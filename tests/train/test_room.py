from dataclasses import replace

import numpy as np
import pytest
import torch

from nn.batches import SMALL, TREES, batch_of, small_model
from toygrammar import toy_trees
from treecrf.encode.batching import Budget
from treecrf.encode.encoder import Encoder
from treecrf.encode.vocabulary import Vocabulary
from treecrf.train.feed import Corpus, Feed
from treecrf.train.room import Room, fill_up, room_for


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
@pytest.mark.parametrize("extra", [(0, 0, 0, 0), (3, 0, 5, 2), (0, 4, 0, 0), (7, 9, 1, 3)])
def test_what_fills_a_batch_up_changes_no_loss_and_no_gradient(loss: str, extra: tuple[int, ...]) -> None:
    batch = batch_of(TREES)
    assert batch.chars is not None
    room = Room(
        *(have + more for have, more in zip((batch.size, batch.longest, *batch.chars.shape), extra, strict=True))
    )
    model = small_model(replace(SMALL, tag_head=True), loss=loss).double()
    gradients = []
    for one in (batch, fill_up(batch, room)):
        model.zero_grad()
        total = model.loss(one).total(words=batch.total_words, labelled=batch.total_labels)
        total.backward()
        gradients.append([total.detach(), *(parameter.grad for parameter in model.parameters())])
    for plain, filled in zip(*gradients, strict=True):
        torch.testing.assert_close(filled, plain)


def test_batches_of_a_bucket_have_one_shape_in_almost_all_epochs() -> None:
    trees = toy_trees(400)
    vocabulary = Vocabulary.build(trees)
    feed = Feed(
        corpus=Corpus.encode(trees, vocabulary),
        encoder=Encoder(vocabulary),
        budget=Budget(words=300),
        seed=1,
        alike=True,
    )
    by_epoch = [[feed._step(members).parts[0][1].shapes for members in feed.epoch(number)] for number in range(6)]
    before = {shapes for epoch in by_epoch[:-1] for shapes in epoch}
    assert len(before) <= 2 * len(feed._buckets)
    assert sum(shapes in before for shapes in by_epoch[-1]) >= 0.8 * len(by_epoch[-1])


def test_a_batch_that_is_no_equal_share_of_its_bucket_keeps_its_size() -> None:
    batch = batch_of(TREES[:5])
    bucket = np.arange(len(TREES))
    lengths = [len(tree.words) for tree in TREES]
    room = room_for(batch, bucket, lengths, cells=10**6)
    assert room.sentences in (5, 6)
    assert room.words == max(lengths)


def test_charts_are_not_filled_up_beyond_the_budget() -> None:
    batch = batch_of(TREES[1:4])
    lengths = [len(tree.words) for tree in TREES]
    room = room_for(batch, np.arange(len(TREES)), lengths, cells=3 * max(lengths) ** 2)
    assert (room.sentences, room.words) == (3, max(lengths[1:4])) and max(lengths[1:4]) < max(lengths)
