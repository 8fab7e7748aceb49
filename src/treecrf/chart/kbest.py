"""Lazy k-best extraction: the trees of a sentence in descending order of score.

This is algorithm 3 of Huang and Chiang (2005), with an explicit stack in place of recursion.
"""

import heapq
import math
from typing import NamedTuple

import numpy as np

from treecrf.chart import numpy_backend
from treecrf.chart.cpu_backend import Floats


class _Candidate(NamedTuple):
    """A tree of a span: its left child has the tree of rank a, its right child the tree of rank b (from 0)."""

    cost: float  # minus its score
    split: int
    a: int
    b: int
    choice: int  # index of the span's score


class _Ranking:
    """The trees of one span, best first, as far as they have been requested."""

    def __init__(self, candidates: list[_Candidate]) -> None:
        heapq.heapify(candidates)
        self.heap = candidates
        self.ranked: list[_Candidate] = []
        self.seen = {candidate[1:] for candidate in candidates}
        self.expanded = 0  # number of ranked trees whose successors are in the heap


class LazyTrees:
    """The trees of one sentence in descending order of score, each computed on request.

    The successors of a tree of a span differ from it in the rank of one child or in the choice. Only trees that the
    order at the root depends on are ranked.

    `scores` is (n + 1, n + 1, c): a span has c alternative scores, in descending order, and each makes a different
    tree.
    """

    def __init__(self, scores: Floats, length: int) -> None:
        self.scores = scores.astype(np.float64)
        self.choices = scores.shape[-1]
        self.length = length
        best_scores, _ = numpy_backend.best_scores(scores[None, ..., 0], np.array([length]))
        self.best = best_scores[0].tolist()
        self.rankings: dict[tuple[int, int], _Ranking] = {}

    def _ranking(self, start: int, end: int) -> _Ranking:
        if (start, end) not in self.rankings:
            scores = self.scores[start, end].tolist()
            candidates = [
                _Candidate(-(scores[0] + self.best[start][k] + self.best[k][end]), k, 0, 0, 0)
                for k in range(start + 1, end)
            ]
            if end == start + 1:
                candidates = [_Candidate(-score, start, 0, 0, choice) for choice, score in enumerate(scores)]
            self.rankings[start, end] = _Ranking([c for c in candidates if c.cost < math.inf])
        return self.rankings[start, end]

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
        ranking.ranked.append(heapq.heappop(ranking.heap))
        return True

    def _is_exhausted(self, start: int, end: int, ranking: _Ranking) -> bool:
        return not ranking.heap and (ranking.expanded == len(ranking.ranked) or end == start + 1)

    def _push_successors(
        self, start: int, end: int, ranking: _Ranking, latest: _Candidate, left: _Ranking, right: _Ranking
    ) -> None:
        split, a, b, choice = latest[1:]
        for key in ((split, a + 1, b, choice), (split, a, b + 1, choice), (split, a, b, choice + 1)):
            _, a, b, choice = key
            if a >= len(left.ranked) or b >= len(right.ranked) or choice >= self.choices or key in ranking.seen:
                continue
            ranking.seen.add(key)
            cost = left.ranked[a].cost + right.ranked[b].cost - self.scores[start, end, choice].item()
            if cost < math.inf:
                heapq.heappush(ranking.heap, _Candidate(cost, *key))

    def spans(self, place: int) -> list[tuple[int, int, int]]:
        """The spans (start, end, choice) of the tree at a place of the order, from 0; empty after the last tree."""
        spans = []
        pending = [(0, self.length, place)]
        while pending:
            start, end, place = pending.pop()
            candidate = self.rank(start, end, place)
            if candidate is None:
                return []
            spans.append((start, end, candidate.choice))
            if end > start + 1:
                pending += [(start, candidate.split, candidate.a), (candidate.split, end, candidate.b)]
        return spans
