"""Lazy k-best extraction: the trees of a sentence in descending order of score.

This is algorithm 3 of Huang and Chiang (2005), with an explicit stack in place of recursion.
"""

import heapq
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Reals
from treecrf.chart import numpy_backend


class _Candidate(NamedTuple):
    """A tree of a span: its left child has the tree of rank a, its right child the tree of rank b (from 0)."""

    cost: float  # minus its score
    split: int
    a: int
    b: int


class _Ranking:
    """The trees of one span, best first, as far as they have been requested.

    A span of n words has n - 1 splits, and few of them are among its best trees. `best_by_split` yields the best tree
    of each split in ascending order of cost, and the heap has only the first one that is not ranked yet, beside the
    successors of ranked trees.
    """

    def __init__(self, best_by_split: Iterator[_Candidate]) -> None:
        self.heap: list[_Candidate] = []
        self.ranked: list[_Candidate] = []
        self.seen: set[tuple[int, int, int]] = set()  # successors that have been in the heap
        self.expanded = 0  # number of ranked trees whose successors are in the heap
        self._best_by_split = best_by_split
        self._push_next_split()

    def _push_next_split(self) -> None:
        self._next_split = next(self._best_by_split, None)
        if self._next_split is not None:
            heapq.heappush(self.heap, self._next_split)

    def rank_next(self) -> None:
        """Moves the best tree of the heap to the ranked trees."""
        self.ranked.append(heapq.heappop(self.heap))
        if self.ranked[-1] is self._next_split:
            self._push_next_split()


class LazyTrees:
    """The trees of one sentence in descending order of score, each computed on request.

    The successors of a tree of a span differ from it in the rank of one child. Only trees that the order at the root
    depends on are ranked. `scores` is (n + 1, n + 1).
    """

    def __init__(self, scores: Reals, length: int) -> None:
        self.scores = scores.astype(np.float64)
        self.length = length
        self.best = numpy_backend.best_scores(scores[None], np.array([length]))[0][0]
        self.rankings: dict[tuple[int, int], _Ranking] = {}

    def _ranking(self, start: int, end: int) -> _Ranking:
        if (start, end) not in self.rankings:
            self.rankings[start, end] = _Ranking(self._best_by_split(start, end))
        return self.rankings[start, end]

    def _best_by_split(self, start: int, end: int) -> Iterator[_Candidate]:
        """The best tree of each split of a span, in ascending order of cost; one word has one tree."""
        scores = self.scores[start, end] + self.best[start, start + 1 : end] + self.best[start + 1 : end, end]
        if end == start + 1:
            scores = self.scores[start, end, None]
        order = np.argsort(-scores, kind="stable")
        for place, score in zip(order, scores[order], strict=True):
            if score == -math.inf:
                return
            yield _Candidate(-float(score), start + 1 + int(place), 0, 0)

    def rank(self, start: int, end: int, place: int) -> _Candidate | None:
        """The tree of a span at a place of its ranking, from 0; None after the last tree."""
        requests = [(start, end, place)]  # a stack: each request is needed by the one below it
        while requests:
            low, high, request_place = requests[-1]
            ranking = self._ranking(low, high)
            if len(ranking.ranked) > request_place or not self._advance(low, high, ranking, requests):
                requests.pop()
        ranked = self._ranking(start, end).ranked
        return ranked[place] if place < len(ranked) else None

    def _advance(self, start: int, end: int, ranking: _Ranking, requests: list[tuple[int, int, int]]) -> bool:
        """Ranks one more tree, or requests a child's tree that this needs; returns False if no tree is left."""
        if ranking.expanded < len(ranking.ranked) and end > start + 1:
            latest = ranking.ranked[-1]
            left, right = self._ranking(start, latest.split), self._ranking(latest.split, end)
            for child, place, low, high in (
                (left, latest.a + 1, start, latest.split),
                (right, latest.b + 1, latest.split, end),
            ):
                if len(child.ranked) <= place and not self._is_exhausted(low, high, child):
                    requests.append((low, high, place))
                    return True
            self._push_successors(start, end, ranking, latest, left, right)
        ranking.expanded = len(ranking.ranked)
        if not ranking.heap:
            return False
        ranking.rank_next()
        return True

    def _is_exhausted(self, start: int, end: int, ranking: _Ranking) -> bool:
        return not ranking.heap and (ranking.expanded == len(ranking.ranked) or end == start + 1)

    def _push_successors(
        self, start: int, end: int, ranking: _Ranking, latest: _Candidate, left: _Ranking, right: _Ranking
    ) -> None:
        _, split, a, b = latest
        for key in ((split, a + 1, b), (split, a, b + 1)):
            _, a, b = key
            if a >= len(left.ranked) or b >= len(right.ranked) or key in ranking.seen:
                continue
            ranking.seen.add(key)
            cost = left.ranked[a].cost + right.ranked[b].cost - self.scores[start, end].item()
            if cost < math.inf:
                heapq.heappush(ranking.heap, _Candidate(cost, *key))

    def spans(self, place: int) -> list[tuple[int, int]]:
        """The spans (start, end) of the tree at a place of the order, from 0; empty after the last tree."""
        spans = []
        pending = [(0, self.length, place)]
        while pending:
            start, end, place = pending.pop()
            candidate = self.rank(start, end, place)
            if candidate is None:
                return []
            spans.append((start, end))
            if end > start + 1:
                pending += [(start, candidate.split, candidate.a), (candidate.split, end, candidate.b)]
        return spans
