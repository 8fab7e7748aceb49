"""Bucketing: grouping sentences of similar length into batches of bounded size.

The cost of a batch grows with its words, and its charts grow with the number of sentences times the squared length of
the longest one. Both are bounded, so that one long sentence does not multiply the memory of a batch of short ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treecrf.arrays import Ints

Indices = Ints  # sentence numbers

# Words of the smallest batches that are made for threads, for few and for many sentences. Smaller batches cost more per
# word, larger ones leave threads without work.
_THREAD_WORDS = 60, 120
_BATCHES_LEFT = 2  # batches for each thread into which the remaining words could still be split


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Maximal size of a batch; a sentence above it gets a batch of its own."""

    words: int = 5000
    cells: int = 1_000_000  # cells of padded charts: (n + 1)^2 for each sentence

    def __post_init__(self) -> None:
        if self.words < 1 or self.cells < 1:
            raise ValueError(
                f"a batch of {self.words} words and {self.cells} chart cells holds nothing; expected 1 or more"
            )


def buckets(lengths: Sequence[int], *, count: int = 32) -> list[Indices]:
    """Groups sentences by length into at most `count` clusters (k-means), shortest first."""
    sizes = np.asarray(lengths, dtype=np.int64)
    if not len(sizes):
        return []
    distinct, frequency = np.unique(sizes, return_counts=True)
    centers = distinct[np.linspace(0, len(distinct) - 1, min(count, len(distinct))).round().astype(int)].astype(float)
    while True:
        nearest = np.abs(distinct[:, None] - centers).argmin(1)
        totals = np.bincount(nearest, frequency, len(centers))
        sums = np.bincount(nearest, distinct * frequency, len(centers))
        means = np.divide(sums, totals, out=centers.copy(), where=totals > 0)
        if np.array_equal(means, centers):
            break
        centers = means
    cluster = nearest[np.searchsorted(distinct, sizes)]
    groups = [np.flatnonzero(cluster == number) for number in range(len(centers))]
    return [group for group in groups if len(group)]


def shuffled_batches(
    lengths: Sequence[int], groups: Sequence[Indices], *, budget: Budget, permute: Callable[[int], Indices]
) -> list[list[int]]:
    """The batches of one epoch: each bucket is shuffled and split, and the batches are shuffled.

    `permute` returns the integers below a number in random order.

    A bucket is split into equal batches that have `budget.words` positions on average. A batch whose charts exceed
    `budget.cells` is split further.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    batches: list[list[int]] = []
    for group in groups:
        members = group[permute(len(group))]
        positions = float((sizes[group] + 2).sum())  # every sentence has a start and an end
        batch_count = min(max(1, round(positions / budget.words)), len(group))
        for batch_members in np.array_split(members, batch_count):
            batches += _split_by_cells(batch_members, sizes, budget.cells)
    return [batches[number] for number in permute(len(batches))]


def _split_by_cells(members: Indices, sizes: Indices, cells: int) -> list[list[int]]:
    """Splits a batch, longest sentences first, into as few batches as keep the charts of each within `cells`."""
    if len(members) * (int(sizes[members].max()) + 1) ** 2 <= cells:
        return [[int(member) for member in members]]
    return _split_by_budget(
        members[np.argsort(-sizes[members], kind="stable")], sizes, Budget(words=2**62, cells=cells)
    )


def sorted_batches(lengths: Sequence[int], *, budget: Budget, threads: int = 1) -> list[list[int]]:
    """Batches of all sentences, longest first; for parsing, which needs no randomness.

    Several threads take one batch after the other. The last batches are smaller than the budget, so that all threads
    end at about the same time, even if one of them shares its processor with another program.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    return _split_by_budget(np.argsort(-sizes, kind="stable"), sizes, budget, threads)


def _split_by_budget(members: Indices, sizes: Indices, budget: Budget, threads: int = 1) -> list[list[int]]:
    """Splits members, sorted by length with the longest first, into batches as large as the budget allows."""
    ends = np.concatenate([[0], np.cumsum(sizes[members])])  # words before each member, then all words
    batches: list[list[int]] = []
    least_words = int(np.clip(ends[-1] // threads, *_THREAD_WORDS))
    start = 0
    while start < len(members):
        words = budget.words
        if threads > 1:
            share = int(ends[-1] - ends[start]) // (_BATCHES_LEFT * threads)
            words = min(words, max(share, least_words))
        end_by_words = int(np.searchsorted(ends, ends[start] + words, side="right")) - 1
        end_by_cells = start + budget.cells // (int(sizes[members[start]]) + 1) ** 2
        end = max(start + 1, min(end_by_words, end_by_cells))
        batches.append(members[start:end].tolist())
        start = end
    return batches
