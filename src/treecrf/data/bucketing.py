"""Which sentences go into a batch together: alike in length, and no more than memory holds.

What a batch costs is its words, and, for the charts, the square of its longest sentence times its sentences. Both are
bounded, so that a single long sentence does not multiply what a batch of short ones needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much a batch may hold; a sentence that is over it makes a batch of its own."""

    words: int = 5000
    cells: int = 1_000_000  # of padded charts, (n + 1)^2 for each sentence

    def __post_init__(self) -> None:
        if self.words < 1 or self.cells < 1:
            raise ValueError(
                f"a batch of {self.words} words and {self.cells} chart cells holds nothing; expected 1 or more"
            )

    def shared(self, lengths: Sequence[int], threads: int) -> "Budget":
        """A budget that gives each of some threads about as much to do, if there is little."""
        return replace(self, words=min(self.words, sum(lengths) // threads + max(lengths, default=1)))


def buckets(lengths: Sequence[int], *, count: int = 32) -> list[Indices]:
    """Sentences grouped by length into at most `count` clusters (k-means), shortest first."""
    sizes = np.asarray(lengths, dtype=np.int64)
    if not len(sizes):
        return []
    distinct, frequency = np.unique(sizes, return_counts=True)
    middles = distinct[np.linspace(0, len(distinct) - 1, min(count, len(distinct))).round().astype(int)].astype(float)
    while True:
        nearest = np.abs(distinct[:, None] - middles).argmin(1)
        totals = np.bincount(nearest, frequency, len(middles))
        sums = np.bincount(nearest, distinct * frequency, len(middles))
        moved = np.divide(sums, totals, out=middles.copy(), where=totals > 0)
        if np.array_equal(moved, middles):
            break
        middles = moved
    cluster = nearest[np.searchsorted(distinct, sizes)]
    groups = [np.flatnonzero(cluster == number) for number in range(len(middles))]
    return [group for group in groups if len(group)]


def shuffled_batches(
    lengths: Sequence[int], groups: Sequence[Indices], *, budget: Budget, generator: torch.Generator
) -> list[list[int]]:
    """One epoch: each bucket's sentences dealt at random into batches within the budget, in random order.

    A bucket makes as many batches as its words fill on average, the start and end of each sentence counted, and more
    only where its charts would be too large.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    batches: list[list[int]] = []
    for group in groups:
        members = group[_permutation(len(group), generator)]
        positions = float((sizes[group] + 2).sum())
        wanted = min(max(1, round(positions / budget.words)), len(group))
        for part in np.array_split(members, wanted):
            batches += _within_cells(part, sizes, budget.cells)
    return [batches[place] for place in _permutation(len(batches), generator)]


def _within_cells(members: Indices, sizes: Indices, cells: int) -> list[list[int]]:
    """A batch, cut into as few as keep each one's charts within `cells`, longest sentences first."""
    if len(members) * (int(sizes[members].max()) + 1) ** 2 <= cells:
        return [[int(member) for member in members]]
    return _fill(members[np.argsort(-sizes[members], kind="stable")], sizes, Budget(words=2**62, cells=cells))


def sorted_batches(lengths: Sequence[int], *, budget: Budget) -> list[list[int]]:
    """Every sentence once, the longest first: for parsing, where nothing is random."""
    sizes = np.asarray(lengths, dtype=np.int64)
    return _fill(np.argsort(-sizes, kind="stable"), sizes, budget)


def _fill(members: Indices, sizes: Indices, budget: Budget) -> list[list[int]]:
    """Members, the longest first, in batches as full as the budget allows."""
    ends = np.concatenate([[0], np.cumsum(sizes[members])])  # the words before each member, and of all
    batches: list[list[int]] = []
    start = 0
    while start < len(members):
        within_words = int(np.searchsorted(ends, ends[start] + budget.words, side="right")) - 1
        within_cells = start + budget.cells // (int(sizes[members[start]]) + 1) ** 2
        end = max(start + 1, min(within_words, within_cells))
        batches.append(members[start:end].tolist())
        start = end
    return batches


def _permutation(size: int, generator: torch.Generator) -> Indices:
    return torch.randperm(size, generator=generator).numpy()
