import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data.letters import letters
from toygrammar import toy_trees
from treecrf.data.bucketing import Budget
from treecrf.data.numericalize import Numericalizer
from treecrf.data.vocabulary import Vocabulary
from treecrf.training.data_loader import Corpus, DataLoader, ahead, mix_seed
from treecrf.tree import Tree

TREES = toy_trees(50)
VOCABULARY = Vocabulary.build(TREES)
FEED = DataLoader(
    corpus=Corpus.encode(TREES, VOCABULARY), encoder=Numericalizer(VOCABULARY), budget=Budget(words=100), seed=1
)


@given(st.integers(0, 50), st.integers(0, 3))
def test_every_epoch_has_every_sentence_once_and_follows_from_the_seed(epoch: int, seed: int) -> None:
    feed = replace(FEED, seed=seed)
    batches = feed.epoch(epoch)
    assert sorted(member for batch in batches for member in batch) == list(range(50))
    assert batches == feed.epoch(epoch) != feed.epoch(epoch + 1)


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 9))
def test_processes_share_a_batch_and_agree_on_its_counts(world: int, accumulate: int) -> None:
    members = FEED.epoch(0)[0]
    shares = [replace(FEED, rank=rank, world=world, accumulate=accumulate)._step(members) for rank in range(world)]
    assert {share[:3] for share in shares} == {FEED._step(members)[:3]}
    numbers = [number for share in shares for number, _ in share.parts]
    assert len(set(numbers)) == len(numbers)
    assert sum(batch.size for share in shares for _, batch in share.parts) == shares[0].sentences
    assert sum(batch.total_words for share in shares for _, batch in share.parts) == shares[0].words
    assert sum(batch.total_labels for share in shares for _, batch in share.parts) == shares[0].labelled


def test_two_processes_have_the_parts_that_one_computes_in_turn() -> None:
    members = FEED.epoch(0)[0]
    alone = dict(replace(FEED, accumulate=2)._step(members).parts)
    shared = dict(part for rank in (0, 1) for part in replace(FEED, rank=rank, world=2)._step(members).parts)
    assert alone.keys() == shared.keys() == {0, 1}
    assert all(torch.equal(alone[number].words, shared[number].words) for number in alone)


def test_a_batch_does_not_depend_on_what_was_encoded_before() -> None:
    other = replace(FEED, encoder=Numericalizer(VOCABULARY))
    list(other.steps(other.epoch(7)))
    first, second = (feed._step(FEED.epoch(0)[3]).parts[0][1] for feed in (FEED, other))
    for name, value in vars(first).items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, getattr(second, name)), name


def test_gold_spans_are_those_of_the_trees() -> None:
    gold = FEED.corpus.gold[1]
    labels = [VOCABULARY.labels[label] for label in gold.labels]
    assert len(labels) == 2 * FEED.corpus.lengths[1] - 1 and np.all(gold.starts < gold.ends)


def test_tags_are_read_only_where_they_are_asked_for() -> None:
    members = FEED.epoch(0)[0]
    assert FEED._step(members).parts[0][1].tags is None
    assert replace(FEED, read_tags=True)._step(members).parts[0][1].tags is not None


def test_an_epoch_has_each_sentence_as_often_as_its_weight_says() -> None:
    feed = replace(FEED, weights=[2.0] * 20 + [0.5] * 30)
    epochs = [Counter(member for batch in feed.epoch(number) for member in batch) for number in range(60)]
    assert all(epoch[member] == 2 for epoch in epochs for member in range(20))
    assert all(epoch[member] in (0, 1) for epoch in epochs for member in range(20, 50))
    assert 25 * 30 < sum(epoch[member] for epoch in epochs for member in range(20, 50)) < 35 * 30
    assert feed.epoch(3) == feed.epoch(3)


def test_a_share_of_the_sentences_is_read_in_lower_case() -> None:
    feed = replace(FEED, lowercase=0.3)
    drawn = [feed._lowered(batch) for number in range(40) for batch in feed.epoch(number)]
    assert drawn == [feed._lowered(batch) for number in range(40) for batch in feed.epoch(number)]
    flat = [low for batch in drawn for low in batch]
    assert 0.25 < sum(flat) / len(flat) < 0.35


def test_lower_case_changes_what_is_spelled_and_nothing_else() -> None:
    members = FEED.epoch(0)[0]
    lower = replace(FEED, lowercase=1.0)._step(members).parts[0][1]
    words = [[word.lower() for word in FEED.corpus.words[member]] for member in members]
    expected = FEED.encoder.collate(words, gold=[FEED.corpus.gold[member] for member in members])
    assert lower.chars is not None and expected.chars is not None
    assert torch.equal(lower.chars, expected.chars) and torch.equal(lower.words, expected.words)


def test_processes_agree_on_who_reads_in_lower_case() -> None:
    feed = replace(FEED, lowercase=0.5)
    members = feed.epoch(0)[0]
    alone = dict(replace(feed, accumulate=2)._step(members).parts)
    shared = dict(part for rank in (0, 1) for part in replace(feed, rank=rank, world=2)._step(members).parts)
    for number, batch in alone.items():
        assert batch.chars is not None and torch.equal(batch.chars, shared[number].chars)


@given(st.lists(st.integers()), st.integers(1, 5))
def test_ahead_gives_the_same_items(items: list[int], number: int) -> None:
    assert list(ahead(items, number)) == items


def test_ahead_passes_errors_on_after_the_items_before_them() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("no more")

    stream = ahead(items(), 3)
    assert next(stream) == 1
    with pytest.raises(KeyError, match="no more"):
        next(stream)


def test_ahead_ends_its_thread_when_nobody_wants_more() -> None:
    made = 0

    def items() -> Iterator[int]:
        nonlocal made
        while True:
            made += 1
            yield made

    before = threading.active_count()
    stream = ahead(items(), 2)
    assert next(stream) == 1
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert threading.active_count() == before
    assert made <= 5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), unique=True, min_size=2))
def test_different_places_have_different_seeds(places: list[tuple[int, int]]) -> None:
    assert len({mix_seed(*place) for place in places}) == len(places)


def test_trees_are_binarized_to_the_side_that_is_asked_for() -> None:
    left, right = (Corpus.encode(TREES, VOCABULARY, side=side) for side in ("left", "right"))
    pairs = list(zip(left.gold, right.gold, strict=True))
    assert any(one.ends.tolist() != other.ends.tolist() for one, other in pairs)
    assert all(len(one.labels) == len(other.labels) for one, other in pairs)


def test_batches_hold_sentences_that_are_alike_in_what_is_read_of_them() -> None:
    trees = [tree for tree in toy_trees(300, seed=5) if len(tree.words) > 3]
    long = [Tree.parse(str(tree).replace(" the)", " extraordinarily)")) for tree in trees]
    corpus = Corpus.encode([*trees, *long], Vocabulary.build([*trees, *long]))
    padding = {}
    for name, pieces in (("words", None), ("pieces", letters())):
        feed = replace(FEED, corpus=corpus, encoder=Numericalizer(Vocabulary.build(trees), pieces=pieces))
        feed = replace(feed, budget=Budget(words=400))
        reader = replace(feed, encoder=Numericalizer(Vocabulary.build(trees), pieces=letters()))
        batches = [reader._batch(members, [False] * len(members)) for members in feed.epoch(0)]
        assert sum(batch.size for batch in batches) == len(corpus.words)
        found = [batch for batch in batches if batch.pieces is not None and batch.piece_lengths is not None]
        real = sum(int(batch.piece_lengths.sum()) for batch in found if batch.piece_lengths is not None)
        padding[name] = sum(batch.pieces.numel() for batch in found if batch.pieces is not None) / real
    assert padding["pieces"] < 1.2 < 1.4 < padding["words"]
