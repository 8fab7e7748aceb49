from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.network.data.bucketing import Budget, buckets, shuffled_batches, sorted_batches

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
