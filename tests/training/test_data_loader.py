import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from network.data.letters import letters
from toygrammar import toy_trees
from treecrf.network.data.bucketing import Budget
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.training.data_loader import Corpus, DataLoader, mix_seed, prefetch_in_thread
from treecrf.trees.tree import Tree

TREES = toy_trees(50)
VOCABULARY = Vocabulary.build(TREES)
LOADER = DataLoader(
    corpus=Corpus.from_trees(TREES, VOCABULARY),
    numericalizer=Numericalizer(VOCABULARY),
    budget=Budget(words=100),
    seed=1,
)


@given(st.integers(0, 50), st.integers(0, 3))
def test_every_epoch_has_every_sentence_once_and_follows_from_the_seed(epoch: int, seed: int) -> None:
    loader = replace(LOADER, seed=seed)
    batches = loader.epoch_batches(epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(50))
    assert batches == loader.epoch_batches(epoch) != loader.epoch_batches(epoch + 1)


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 9))
def test_processes_share_a_batch_and_agree_on_its_counts(world_size: int, accumulate: int) -> None:
    indices = LOADER.epoch_batches(0)[0]
    shares = [
        replace(LOADER, rank=rank, world_size=world_size, accumulate=accumulate).collate(indices)
        for rank in range(world_size)
    ]
    assert {share[:3] for share in shares} == {LOADER.collate(indices)[:3]}
    numbers = [number for share in shares for number, _ in share.parts]
    assert len(set(numbers)) == len(numbers)
    assert sum(batch.size for share in shares for _, batch in share.parts) == shares[0].sentences
    assert sum(batch.total_words for share in shares for _, batch in share.parts) == shares[0].words
    assert sum(batch.total_labels for share in shares for _, batch in share.parts) == shares[0].labeled_spans


def test_two_processes_have_the_parts_that_one_process_accumulates() -> None:
    indices = LOADER.epoch_batches(0)[0]
    alone = dict(replace(LOADER, accumulate=2).collate(indices).parts)
    shared = dict(part for rank in (0, 1) for part in replace(LOADER, rank=rank, world_size=2).collate(indices).parts)
    assert alone.keys() == shared.keys() == {0, 1}
    assert all(torch.equal(alone[number].words, shared[number].words) for number in alone)


def test_a_batch_does_not_depend_on_earlier_batches() -> None:
    other = replace(LOADER, numericalizer=Numericalizer(VOCABULARY))
    list(other.steps(other.epoch_batches(7)))
    first, second = (loader.collate(LOADER.epoch_batches(0)[3]).parts[0][1] for loader in (LOADER, other))
    for name, value in vars(first).items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, getattr(second, name)), name


def test_gold_trees_are_binarized() -> None:
    gold = LOADER.corpus.gold[1]
    labels = [VOCABULARY.labels[label] for label in gold.labels]
    assert len(labels) == 2 * LOADER.corpus.lengths[1] - 1 and np.all(gold.starts < gold.ends)


def test_batches_have_tags_only_on_request() -> None:
    indices = LOADER.epoch_batches(0)[0]
    assert LOADER.collate(indices).parts[0][1].tags is None
    assert replace(LOADER, read_tags=True).collate(indices).parts[0][1].tags is not None


def test_an_epoch_repeats_each_sentence_by_its_weight() -> None:
    loader = replace(LOADER, weights=[2.0] * 20 + [0.5] * 30)
    epochs = [Counter(index for batch in loader.epoch_batches(number) for index in batch) for number in range(60)]
    assert all(epoch[index] == 2 for epoch in epochs for index in range(20))
    assert all(epoch[index] in (0, 1) for epoch in epochs for index in range(20, 50))
    assert 25 * 30 < sum(epoch[index] for epoch in epochs for index in range(20, 50)) < 35 * 30
    assert loader.epoch_batches(3) == loader.epoch_batches(3)


def test_a_share_of_the_sentences_is_converted_to_lower_case() -> None:
    loader = replace(LOADER, lowercase=0.3)
    draws = [loader._draw_lowercase(batch) for number in range(40) for batch in loader.epoch_batches(number)]
    assert draws == [loader._draw_lowercase(batch) for number in range(40) for batch in loader.epoch_batches(number)]
    flat = [is_lowercase for batch in draws for is_lowercase in batch]
    assert 0.25 < sum(flat) / len(flat) < 0.35


def test_lower_case_changes_only_the_words() -> None:
    indices = LOADER.epoch_batches(0)[0]
    lower = replace(LOADER, lowercase=1.0).collate(indices).parts[0][1]
    words = [[word.lower() for word in LOADER.corpus.words[index]] for index in indices]
    expected = LOADER.numericalizer.collate(words, gold=[LOADER.corpus.gold[index] for index in indices])
    assert lower.chars is not None and expected.chars is not None
    assert torch.equal(lower.chars, torch.from_numpy(expected.chars))
    assert torch.equal(lower.words, torch.from_numpy(expected.words))


def test_processes_agree_on_the_lowercase_sentences() -> None:
    loader = replace(LOADER, lowercase=0.5)
    indices = loader.epoch_batches(0)[0]
    alone = dict(replace(loader, accumulate=2).collate(indices).parts)
    shared = dict(part for rank in (0, 1) for part in replace(loader, rank=rank, world_size=2).collate(indices).parts)
    for number, batch in alone.items():
        assert batch.chars is not None and torch.equal(batch.chars, shared[number].chars)


@given(st.lists(st.integers()), st.integers(1, 5))
def test_prefetching_yields_the_same_items(items: list[int], count: int) -> None:
    assert list(prefetch_in_thread(items, count)) == items


def test_prefetching_raises_an_error_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("no more")

    stream = prefetch_in_thread(items(), 3)
    assert next(stream) == 1
    with pytest.raises(KeyError, match="no more"):
        next(stream)


def test_closing_the_prefetching_iterator_ends_its_thread() -> None:
    item_count = 0

    def items() -> Iterator[int]:
        nonlocal item_count
        while True:
            item_count += 1
            yield item_count

    before = threading.active_count()
    stream = prefetch_in_thread(items(), 2)
    assert next(stream) == 1
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert threading.active_count() == before
    assert item_count <= 5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), unique=True, min_size=2))
def test_different_arguments_have_different_seeds(arguments: list[tuple[int, int]]) -> None:
    assert len({mix_seed(*numbers) for numbers in arguments}) == len(arguments)


def test_trees_are_binarized_to_the_left_or_right() -> None:
    left, right = (Corpus.from_trees(TREES, VOCABULARY, side=side) for side in ("left", "right"))
    pairs = list(zip(left.gold, right.gold, strict=True))
    assert any(one.ends.tolist() != other.ends.tolist() for one, other in pairs)
    assert all(len(one.labels) == len(other.labels) for one, other in pairs)


def test_buckets_group_sentences_by_subwords_if_the_model_reads_subwords() -> None:
    trees = [tree for tree in toy_trees(300, seed=5) if len(tree.words) > 3]
    long = [Tree.parse(str(tree).replace(" the)", " extraordinarily)")) for tree in trees]
    corpus = Corpus.from_trees([*trees, *long], Vocabulary.build([*trees, *long]))
    padding = {}
    for name, tokenizer in (("words", None), ("subwords", letters())):
        numericalizer = Numericalizer(Vocabulary.build(trees), subwords=tokenizer)
        loader = replace(LOADER, corpus=corpus, numericalizer=numericalizer, budget=Budget(words=400))
        subword_loader = replace(loader, numericalizer=Numericalizer(Vocabulary.build(trees), subwords=letters()))
        batches = [subword_loader._collate_part(indices, [False] * len(indices)) for indices in loader.epoch_batches(0)]
        assert sum(batch.size for batch in batches) == len(corpus.words)
        subwords = sum(int(batch.segment_lengths.sum()) for batch in batches if batch.segment_lengths is not None)
        cells = sum(batch.pieces.numel() for batch in batches if batch.pieces is not None)
        padding[name] = cells / subwords
    assert padding["subwords"] < 1.2 < 1.4 < padding["words"]
