"""From charts to trees: exact samples, and the k best in order.

Trees are boolean charts by fencepost, shaped like the scores they come from.
"""

import heapq
from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.chart import torch_backend


class _Candidate(NamedTuple):
    """A tree of a span: the a-th best of its left side beside the b-th best of its right; cheaper is better."""

    cost: float
    split: int
    a: int
    b: int
    choice: int  # which of the span's own scores


class _Ranking:
    """The trees of one span, best first, as far as anyone asked."""

    def __init__(self, candidates: list[_Candidate]) -> None:
        heapq.heapify(candidates)
        self.waiting = candidates
        self.ranked: list[_Candidate] = []
        self.seen = {candidate[1:] for candidate in candidates}
        self.grown = 0  # how many of `ranked` have put their successors among those waiting


class LazyTrees:
    """The trees of one sentence in order of score, each found when it is asked for.

    The second best tree of a span differs from the best in one side only, so a span's next candidates come from those
    already taken: nothing is ranked that the order at the root does not need.

    `scores` is (n + 1, n + 1, c): a span may be chosen in c ways, of which the first scores best, and each makes
    another tree.
    """

    def __init__(self, scores: Tensor, length: int) -> None:
        self.scores = scores.double().numpy()
        self.choices = scores.shape[-1]
        self.length = length
        self.best = torch_backend.by_fencepost(torch_backend.best(scores[None, ..., 0], torch.tensor([length])))[
            0
        ].tolist()
        self.rankings: dict[tuple[int, int], _Ranking] = {}

    def _ranking(self, start: int, end: int) -> _Ranking:
        if (start, end) not in self.rankings:
            own = self.scores[start, end].tolist()
            costs = [
                _Candidate(-(own[0] + self.best[start][k] + self.best[k][end]), k, 0, 0, 0)
                for k in range(start + 1, end)
            ]
            if end == start + 1:
                costs = [_Candidate(-score, start, 0, 0, choice) for choice, score in enumerate(own)]
            self.rankings[start, end] = _Ranking([c for c in costs if c.cost < torch.inf])
        return self.rankings[start, end]

    def rank(self, start: int, end: int, place: int) -> _Candidate | None:
        """The candidate at a place of a span's order, 0 for the best; None past the last."""
        asked = [(start, end, place)]  # a stack: what must be ranked before the one below it can go on
        while asked:
            first, last, wanted = asked[-1]
            ranking = self._ranking(first, last)
            if len(ranking.ranked) > wanted or not self._advance(first, last, ranking, asked):
                asked.pop()
        ranked = self._ranking(start, end).ranked
        return ranked[place] if place < len(ranked) else None

    def _advance(self, start: int, end: int, ranking: _Ranking, asked: list[tuple[int, int, int]]) -> bool:
        """Rank one more candidate, or ask first for what that needs; False when there are no more."""
        if ranking.grown < len(ranking.ranked) and end > start + 1:
            taken = ranking.ranked[-1]
            left, right = self._ranking(start, taken.split), self._ranking(taken.split, end)
            for side, place, low, high in (
                (left, taken.a + 1, start, taken.split),
                (right, taken.b + 1, taken.split, end),
            ):
                if len(side.ranked) <= place and not self._exhausted(low, high, side):
                    asked.append((low, high, place))
                    return True
            self._grow(start, end, ranking, taken, left, right)
        ranking.grown = len(ranking.ranked)
        if not ranking.waiting:
            return False
        ranking.ranked.append(heapq.heappop(ranking.waiting))
        return True

    def _exhausted(self, start: int, end: int, ranking: _Ranking) -> bool:
        return not ranking.waiting and (ranking.grown == len(ranking.ranked) or end == start + 1)

    def _grow(
        self, start: int, end: int, ranking: _Ranking, taken: _Candidate, left: _Ranking, right: _Ranking
    ) -> None:
        split, a, b, choice = taken[1:]
        for key in ((split, a + 1, b, choice), (split, a, b + 1, choice), (split, a, b, choice + 1)):
            _, a, b, choice = key
            if a >= len(left.ranked) or b >= len(right.ranked) or choice >= self.choices or key in ranking.seen:
                continue
            ranking.seen.add(key)
            cost = left.ranked[a].cost + right.ranked[b].cost - self.scores[start, end, choice].item()
            if cost < torch.inf:
                heapq.heappush(ranking.waiting, _Candidate(cost, *key))

    def spans(self, place: int) -> list[tuple[int, int, int]]:
        """The spans of the tree at a place of the order, with their choices; none past the last tree."""
        found = []
        asked = [(0, self.length, place)]
        while asked:
            start, end, place = asked.pop()
            candidate = self.rank(start, end, place)
            if candidate is None:
                return []
            found.append((start, end, candidate.choice))
            if end > start + 1:
                asked += [(start, candidate.split, candidate.a), (candidate.split, end, candidate.b)]
        return found


def kbest_trees(scores: Tensor, lengths: Tensor, count: int) -> Tensor:
    """The `count` best trees of each sentence in order: (count, b, n + 1, n + 1); empty charts past the last tree."""
    batch, size = scores.shape[:2]
    trees = torch.zeros(count, batch, size, size, dtype=torch.bool)
    for b, (chart, length) in enumerate(zip(scores.detach().cpu(), lengths.tolist(), strict=True)):
        lazy = LazyTrees(chart[..., None], length)
        for place in range(count):
            spans = lazy.spans(place)
            if not spans:
                break
            starts, ends, _ = zip(*spans, strict=True)
            trees[place, b, list(starts), list(ends)] = True
    return trees.to(scores.device)
