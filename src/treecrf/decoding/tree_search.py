"""The k most probable trees of a sentence, by branch and bound.

The probability of a tree is the sum over its derivations, so the k best derivations do not give the k best trees. The
search divides the set of all trees into subsets. A subset is given by decisions about spans: a span is a constituent
with a certain label, or it is not. The chart of a subset has the log-potential of the best allowed label of each span,
or that of no constituent if it is higher. The sum over all binary trees of this chart is an upper bound on the
probability of each tree of the subset: a tree has one label per span, and its derivations are some of the binary trees.

The search takes the subset with the highest bound. The best derivation of its chart gives a tree. Every other tree of
the subset differs from this tree in a first span, in some order of spans; this divides the rest of the subset. The
marginals of the chart give bounds of the parts. The search is complete when no bound is higher than the probability of
the k-th best tree. If it reaches the limit on its work before that, the trees are a beam: their probabilities and their
order are exact, but other trees may be more probable.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from treecrf.chart import cky, inside_outside
from treecrf.chart.cpu_backend import Doubles, Ints, Mask
from treecrf.decoding.label_chart import Constituents, LabelChart
from treecrf.decoding.tree_probability import Position, compatible_spans

# the limit on the subsets whose charts a search computes: for any k, and in addition for each of the k trees
_MAX_SUBSETS = 1000
_MAX_SUBSETS_PER_TREE = 50
_LONG = 50  # words: the time of a chart grows with the cube of the length, so the limit decreases from here on
_BATCH = 16  # charts that are computed at once
_SLACK = 1e-6  # added to bounds that follow from marginals, which have rounding errors
_MIN_MASS = 1e-14  # of a part, relative to its subset: smaller differences of marginals are rounding errors

_LABEL, _OTHER, _CONSTITUENT, _FREE = range(4)  # a span has its best label, not that label, any label, or none


class TreeRanking(NamedTuple):
    """The most probable trees of a sentence with their log-probabilities, in descending order."""

    trees: list[tuple[Constituents, float]]
    is_exact: bool  # whether they are proven to be the most probable trees


class _Choice(NamedTuple):
    """The decision that a tree makes about a span, the opposite one, and a bound on all trees with the opposite."""

    position: Position
    agree: int
    differ: int
    bound: float  # of log-probabilities


class _Subset(NamedTuple):
    """A subset of a sentence's trees; all charts are (n + 1, n + 1)."""

    labeled: Doubles  # the log-potential of the best allowed label; -inf if the span may not be a constituent
    free: Doubles  # the log-potential of no constituent; -inf if the span must be a constituent
    ranks: Ints  # the rank of the best allowed label in the label chart
    is_fixed: Mask  # whether no other label is allowed

    @staticmethod
    def all_trees(chart: LabelChart) -> "_Subset":
        """The set of all trees."""
        labeled = chart.values[..., 0] if chart.values.shape[-1] else np.full_like(chart.free, -np.inf)
        return _Subset(labeled, chart.free, np.zeros(labeled.shape, np.int64), np.zeros(labeled.shape, np.bool_))

    def part(self, chart: LabelChart, choices: Sequence[_Choice]) -> "_Subset":
        """The trees that make all of these choices but the last, and differ in the last."""
        subset = _Subset(*(array.copy() for array in self))
        for choice in choices[:-1]:
            subset._decide(chart, choice.position, choice.agree)
        subset._decide(chart, choices[-1].position, choices[-1].differ)
        return subset

    def _decide(self, chart: LabelChart, position: Position, decision: int) -> None:
        start, end = position
        if decision == _FREE:
            self.labeled[position] = -np.inf
        elif decision == _OTHER:
            self.labeled[position] = self.next_label(chart, position)
            self.ranks[position] += 1
        else:
            self.free[position] = -np.inf
            self.is_fixed[position] |= decision == _LABEL
            for crossing in (self.labeled, self.free):
                crossing[:start, start + 1 : end] = -np.inf
                crossing[start + 1 : end, end + 1 :] = -np.inf

    def next_label(self, chart: LabelChart, position: Position) -> float:
        """The log-potential of the second best allowed label of a span."""
        rank = int(self.ranks[position]) + 1
        has_next = rank < chart.values.shape[-1] and not self.is_fixed[position]
        return float(chart.values[position][rank]) if has_next else -math.inf


class _Search:
    """A search for the k most probable trees of a sentence."""

    def __init__(self, chart: LabelChart, k: int) -> None:
        self.chart = chart
        self.k = k
        self.log_probs: dict[Constituents, float] = {}  # of all trees seen
        self.computed = 0  # subsets whose charts have been computed
        self._best: list[float] = []  # a heap of the k highest log-probabilities
        self._numbers = count()
        # parts of subsets, by their bounds: the trees of a subset that make the same choices, but differ in the last
        self._queue: list[tuple[float, int, _Subset, Sequence[_Choice], int]] = []  # the last one: how many choices
        self._push(0.0, _Subset.all_trees(chart), (), 0)

    @property
    def threshold(self) -> float:
        """The log-probability of the k-th best tree so far."""
        return self._best[0] if len(self._best) == self.k else -math.inf

    @property
    def is_complete(self) -> bool:
        """Whether no tree outside of `log_probs` can be among the k best."""
        return not self._queue or -self._queue[0][0] <= self.threshold

    def _push(self, bound: float, subset: _Subset, choices: Sequence[_Choice], choice_count: int) -> None:
        if bound > self.threshold:
            heapq.heappush(self._queue, (-bound, next(self._numbers), subset, choices, choice_count))

    def step(self) -> None:
        """Computes the charts of the subsets with the highest bounds, and divides these subsets."""
        subsets: list[_Subset] = []
        while len(subsets) < _BATCH and not self.is_complete:
            _, _, subset, choices, choice_count = heapq.heappop(self._queue)
            subsets.append(subset.part(self.chart, choices[:choice_count]) if choices else subset)
        self.computed += len(subsets)
        charts = np.stack([np.maximum(subset.labeled, subset.free) for subset in subsets])
        lengths = np.full(len(subsets), self.chart.length)
        _, log_sums, marginals = inside_outside(charts, lengths)
        log_bounds = (log_sums - self.chart.log_z).tolist()
        best_trees = cky(charts, lengths)
        feasible = [number for number, bound in enumerate(log_bounds) if bound > self.threshold]
        trees = [self._constituents(subsets[number], best_trees[number]) for number in feasible]
        self._add_trees(trees)
        for number, tree in zip(feasible, trees, strict=True):
            self._divide(subsets[number], tree, log_bounds[number], marginals[number])

    def _constituents(self, subset: _Subset, derivation: Mask) -> Constituents:
        """The constituents of a subset's best derivation."""
        starts, ends = (derivation & (subset.labeled > subset.free)).nonzero()
        ids = self.chart.ids[starts, ends, subset.ranks[starts, ends]]
        return tuple(zip(zip(starts.tolist(), ends.tolist(), strict=True), ids.tolist(), strict=True))

    def _add_trees(self, trees: Iterable[Constituents]) -> None:
        new_trees = [tree for tree in dict.fromkeys(trees) if tree not in self.log_probs]
        for tree, log_prob in zip(new_trees, self.chart.log_probs(new_trees), strict=True):
            self.log_probs[tree] = log_prob
            heapq.heappush(self._best, log_prob)
            if len(self._best) > self.k:
                heapq.heappop(self._best)

    def _divide(self, subset: _Subset, tree: Constituents, log_bound: float, marginals: Doubles) -> None:
        """Divides all trees of a subset but one, by the first choice in which they differ from that tree."""
        constituents = dict(tree)
        choices = [
            self._choice(subset, position, position in constituents, log_bound, float(marginals[position]))
            for position in compatible_spans(constituents, self.chart.length)
            if not subset.is_fixed[position]  # all trees of the subset agree
        ]
        choices.sort(key=lambda choice: -choice.bound)
        for number, choice in enumerate(choices, 1):
            self._push(choice.bound, subset, choices, number)

    def _choice(
        self, subset: _Subset, position: Position, is_constituent: bool, log_bound: float, marginal: float
    ) -> _Choice:
        """The choice of a tree about one span.

        The bound of a subset is linear in the potential of the span, whose share of the bound is the marginal.
        """
        labeled, free = float(subset.labeled[position]), float(subset.free[position])
        if is_constituent:
            other = max(free, subset.next_label(self.chart, position))
            share = max(1 - marginal, _MIN_MASS) + marginal * math.exp(other - labeled)
            return _Choice(position, _LABEL, _OTHER, log_bound + math.log(share) + _SLACK)
        if labeled == -math.inf:
            return _Choice(position, _FREE, _CONSTITUENT, -math.inf)
        share = max(marginal, _MIN_MASS) * math.exp(labeled - free)
        return _Choice(position, _FREE, _CONSTITUENT, log_bound + math.log(share) + _SLACK)


def rank_trees(chart: LabelChart, k: int, *, should_stop: Callable[[], bool] | None = None) -> TreeRanking:
    """The k most probable trees.

    The search ends early at the limit on its work, or when `should_stop` returns true. It then has at least one tree.
    """
    share = min(1.0, (_LONG / chart.length) ** 3)
    max_subsets = share * (_MAX_SUBSETS + _MAX_SUBSETS_PER_TREE * k) + 2 * k
    search = _Search(chart, k)
    search.step()
    while not search.is_complete and search.computed < max_subsets and not (should_stop and should_stop()):
        search.step()
    trees = sorted(search.log_probs.items(), key=lambda item: -item[1])[:k]
    return TreeRanking(trees, search.is_complete)
