from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from network.data.letters import letters
from network.nn.batches import SMALL, TREES, VOCABULARY, host_batch_of, small_model
from network.nn.bert_models import BERT, BERT_CONFIGS, SEGMENT_SIZE, host_bert_batch
from toygrammar import toy_trees
from treecrf.network.data.batch import IGNORED, Batch
from treecrf.network.data.bucketing import (
    BucketSize,
    Budget,
    PaddedShape,
    buckets,
    pad_to,
    padded_shape,
    shuffled_batches,
    sorted_batches,
)
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn import SpanModel, TensorBatch
from treecrf.network.nn.bert import Bert
from treecrf.training.data_loader import Corpus, DataLoader
from treecrf.trees.tree import Tree

lengths = st.lists(st.integers(1, 120), min_size=1, max_size=150)
budgets = st.builds(Budget, words=st.integers(1, 500), cells=st.integers(1, 20_000))


def epoch(sizes, budget, seed=1, count=8):
    permute = np.random.default_rng(seed).permutation
    return shuffled_batches(sizes, buckets(sizes, count=count), budget=budget, permute=permute)


def cells(batch, sizes):
    return len(batch) * (max(sizes[member] for member in batch) + 1) ** 2


@given(lengths, st.integers(1, 40))
def test_buckets_contain_every_sentence_once_and_do_not_overlap_in_length(sizes, count):
    groups = buckets(sizes, count=count)
    assert sorted(member for group in groups for member in group.tolist()) == list(range(len(sizes)))
    assert len(groups) <= count
    ranges = [(min(sizes[m] for m in group), max(sizes[m] for m in group)) for group in groups]
    assert all(before[1] < after[0] for before, after in pairwise(ranges))


def test_no_sentences_give_no_buckets_and_no_batches():
    assert buckets([]) == [] and sorted_batches([], budget=Budget()) == []


@given(lengths, budgets)
def test_an_epoch_contains_every_sentence_once_within_the_cell_budget(sizes, budget):
    batches = epoch(sizes, budget)
    assert sorted(member for batch in batches for member in batch) == list(range(len(sizes)))
    assert all(len(batch) == 1 or cells(batch, sizes) <= budget.cells for batch in batches)


@given(lengths, budgets)
def test_sorted_batches_contain_every_sentence_once_within_the_budget(sizes, budget):
    batches = sorted_batches(sizes, budget=budget)
    order = [member for batch in batches for member in batch]
    assert sorted(order) == list(range(len(sizes)))
    assert [sizes[member] for member in order] == sorted(sizes, reverse=True)
    for batch in batches:
        assert len(batch) == 1 or cells(batch, sizes) <= budget.cells
        assert len(batch) == 1 or sum(sizes[member] for member in batch) <= budget.words


@given(lengths, budgets)
def test_sorted_batches_are_as_large_as_the_budget_allows(sizes, budget):
    for batch, following in pairwise(sorted_batches(sizes, budget=budget)):
        larger = [*batch, following[0]]
        assert sum(sizes[member] for member in larger) > budget.words or cells(larger, sizes) > budget.cells


@pytest.mark.parametrize(
    ("count", "threads", "sizes"),
    [
        (1, 2, [1]),
        (10, 2, [6, 4]),  # few words: batches of 60 at least
        (100, 2, [25, 18, 14, 12, 12, 12, 7]),
        (300, 2, [50, 50, 50, 37, 28, 21, 16, 12, 12, 12, 12]),  # from the budget's 500 words to 120
        (30, 3, [10, 10, 10]),
    ],
)
def test_threads_get_smaller_batches_towards_the_end(count, threads, sizes):
    batches = sorted_batches([10] * count, budget=Budget(words=500), threads=threads)
    assert [len(batch) for batch in batches] == sizes == sorted(sizes, reverse=True)


def test_buckets_are_clusters_of_lengths():
    groups = buckets([1, 2, 3, 10, 11, 30, 31, 2, 10], count=3)
    assert [group.tolist() for group in groups] == [[0, 1, 2, 7], [3, 4, 8], [5, 6]]


def test_a_batch_is_split_only_if_its_charts_exceed_the_cells():
    sizes = [5, 6, 7, 5, 6, 7, 50]
    groups = buckets(sizes, count=2)
    # six sentences with 48 positions make two batches; three charts of 8 x 8 cells have 192 cells
    for limit, batches in ((192, [[0, 1, 2], [3, 4, 5], [6]]), (191, [[2, 1], [0], [5, 4], [3], [6]])):
        budget = Budget(words=24, cells=limit)
        assert shuffled_batches(sizes, groups, budget=budget, permute=np.arange) == batches


@given(lengths, budgets, st.integers(1, 5))
def test_batches_for_threads_contain_every_sentence_once_within_the_budget(sizes, budget, threads):
    batches = sorted_batches(sizes, budget=budget, threads=threads)
    assert sorted(member for batch in batches for member in batch) == list(range(len(sizes)))
    assert all(len(batch) == 1 or sum(sizes[member] for member in batch) <= budget.words for batch in batches)


def test_batches_of_a_bucket_fill_the_word_budget_on_average():
    sizes = [10] * 1000 + [40] * 500
    batches = epoch(sizes, Budget(words=5000, cells=10**9))
    words = sorted(sum(sizes[member] for member in batch) for batch in batches)
    assert words == [5000] * 6


def test_long_sentences_do_not_exceed_the_cell_budget():
    sizes = [20] * 200 + [400] * 20
    assert max(cells(batch, sizes) for batch in epoch(sizes, Budget(words=5000, cells=500_000))) <= 500_000


@given(lengths)
def test_the_same_seed_gives_the_same_epoch(sizes):
    assert epoch(sizes, Budget(words=100)) == epoch(sizes, Budget(words=100))


def test_another_seed_changes_members_and_order():
    sizes = [5] * 40 + [50] * 40
    first, second = epoch(sizes, Budget(words=100), seed=1), epoch(sizes, Budget(words=100), seed=2)
    assert first != second and sorted(map(sorted, first)) != sorted(map(sorted, second))


@pytest.mark.parametrize("limits", [{"words": 0}, {"cells": 0}, {"words": -1}])
def test_an_empty_budget_is_an_error(limits):
    with pytest.raises(ValueError, match="holds nothing"):
        Budget(**limits)


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


@pytest.mark.parametrize(
    "weights", [None, [3.0] * 200 + [1.0] * 200, [0.6, 1.3] * 200], ids=["once", "weighted", "fractions"]
)
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
    lengths = [len(tree.words) for tree in TREES]
    shape = padded_shape(batch, BucketSize(len(TREES), max(lengths)), cells=10**6, segment_size=0)
    assert shape.sentences in (5, 6)
    assert shape.words == max(lengths)


def test_charts_are_not_padded_beyond_the_budget() -> None:
    batch = host_batch_of(TREES[1:4])
    lengths = [len(tree.words) for tree in TREES]
    bucket = BucketSize(len(TREES), max(lengths))
    shape = padded_shape(batch, bucket, cells=3 * max(lengths) ** 2, segment_size=0)
    assert (shape.sentences, shape.words) == (3, max(lengths[1:4])) and max(lengths[1:4]) < max(lengths)
