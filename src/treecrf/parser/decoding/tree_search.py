"""The k most probable trees of a sentence, by branch and bound.

The probability of a tree is the sum over its derivations, so the k best derivations do not give the k best trees. The
search divides the set of all trees into subsets. A subset is given by decisions about spans: a span is a constituent
with a certain label, or it is not. The chart of a subset has the log-potential of the best choice for each span: an
allowed label, or no constituent. The sum over all binary trees of this chart is an upper bound on the probability of
each tree of the subset: a tree has one label per span, and its derivations are some of the binary trees.

The search takes the subset with the highest bound. The best derivation of its chart gives a tree. Every other tree of
the subset differs from this tree in a first span, in some order of spans; this divides the rest of the subset. The
marginals of the chart give bounds of the parts. The search is complete when no bound is higher than the probability of
the k-th best tree. If it reaches the limit on its work before that, the trees are a beam: their probabilities and their
order are exact, but other trees may be more probable.
"""

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints, Mask
from treecrf.chart import cky, compatible_spans, inside, inside_outside
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.constraints import Position
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.log_space import log_softmax, logsumexp
from treecrf.trees.treebank.binarize import LabelSet

_BLOCK = 1 << 14  # spans per block when the label scores of all spans are computed
# the limit on the subsets whose charts a search computes: for any k, and in addition for each of the k trees
_MAX_SUBSETS = 1000
_MAX_SUBSETS_PER_TREE = 50
_LONG = 50  # words: the time of a chart grows with the cube of the length, so the limit decreases from here on
_BATCH = 16  # charts that are computed at once
_SLACK = 1e-6  # added to bounds that follow from marginals, which have rounding errors
_MIN_MASS = 1e-14  # share of a part in its subset: smaller differences of marginals are rounding errors

Constituents = tuple[tuple[Position, int], ...]  # the positions and label ids of a tree's constituents, sorted


class LabelChart:
    """The best labels of each span of a sentence.

    A log-potential is the score of a span plus the log-probability of its label. `choices` is the number of labels
    with constituents; those in `excluded` are left out.
    """

    def __init__(
        self,
        scores: Scores,
        distribution: BracketDistribution,
        sentence: int,
        labels: LabelSet,
        *,
        choices: int,
        excluded: Collection[int] = (),
    ) -> None:
        self.length = int(scores.lengths[sentence])
        self.log_z = float(distribution.log_z[sentence])
        size, fenceposts = scores.spans.shape[1], self.length + 1
        free_labels = labels.free_labels(self.length)
        tree_labels = np.array([label for label in labels.tree_labels(self.length) if label not in excluded], np.int64)
        choices = min(choices, len(tree_labels))
        # no constituent: all labels without constituents summed
        self.free: Doubles = np.full((fenceposts, fenceposts), -np.inf)
        self.values: Doubles = np.full((fenceposts, fenceposts, choices), -np.inf)  # in descending order
        self.ids: Ints = np.zeros(self.values.shape, np.int64)
        all_starts, all_ends = np.triu_indices(fenceposts, 1)
        for first in range(0, len(all_starts), _BLOCK):
            starts, ends = all_starts[first : first + _BLOCK], all_ends[first : first + _BLOCK]
            potentials = log_softmax(scores.labels_at((sentence * size + starts) * size + ends))
            potentials += distribution.scores[sentence, starts, ends, None]
            if free_labels:
                self.free[starts, ends] = logsumexp(potentials[:, free_labels])
            values = potentials[:, tree_labels]
            best = np.argsort(-values, -1, kind="stable")[:, :choices]
            self.values[starts, ends] = np.take_along_axis(values, best, -1)
            self.ids[starts, ends] = tree_labels[best]

    def log_probs(self, trees: Iterable[Constituents]) -> list[float]:
        """The exact log-probabilities of trees: see tree_probability.py."""
        trees = list(trees)
        chart = np.full((len(trees), *self.free.shape), -np.inf)
        for number, constituents in enumerate(trees):
            is_compatible = compatible_spans(dict(constituents), len(self.free))
            chart[number, is_compatible] = self.free[is_compatible]
            for (start, end), label in constituents:
                choice = int((self.ids[start, end] == label).argmax())
                chart[number, start, end] = self.values[start, end, choice]
        _, log_sums = inside(chart, np.full(len(trees), self.length))
        log_probs: list[float] = np.minimum(log_sums - self.log_z, 0.0).tolist()
        return log_probs


class TreeRanking(NamedTuple):
    """The most probable trees of a sentence with their log-probabilities, in descending order."""

    trees: list[tuple[Constituents, float]]
    is_exact: bool  # whether they are proven to be the most probable trees


class _Subset(NamedTuple):
    """A subset of a sentence's trees; all charts are (n + 1, n + 1)."""

    labeled: Doubles  # the log-potential of the best allowed label; -inf if the span may not be a constituent
    free: Doubles  # the log-potential of no constituent; -inf if the span must be a constituent
    ranks: Ints  # the rank of the best allowed label in the label chart
    is_fixed: Mask  # whether no other label is allowed

    @staticmethod
    def all_trees(chart: LabelChart) -> "_Subset":
        labeled = chart.values[..., 0] if chart.values.shape[-1] else np.full_like(chart.free, -np.inf)
        return _Subset(labeled, chart.free, np.zeros(labeled.shape, np.int64), np.zeros(labeled.shape, np.bool_))

    def require_constituent(self, position: Position) -> None:
        """Leaves the trees with a constituent at a span."""
        start, end = position
        self.free[position] = -np.inf
        for crossing in (self.labeled, self.free):
            crossing[:start, start + 1 : end] = -np.inf
            crossing[start + 1 : end, end + 1 :] = -np.inf

    def next_labels(self, chart: LabelChart, starts: Ints, ends: Ints) -> Doubles:
        """The log-potentials of the second best allowed labels of spans."""
        ranks = self.ranks[starts, ends] + 1
        has_next = (ranks < chart.values.shape[-1]) & ~self.is_fixed[starts, ends]
        values = chart.values[starts, ends, np.where(has_next, ranks, 0)]
        return np.where(has_next, values, -np.inf)


class _Division(NamedTuple):
    """All trees of a subset but one, divided into parts by the first span in which a tree differs from that tree.

    The spans are in the order of the bounds, highest first. Part i has the trees that agree with the tree in the spans
    before span i and differ in span i: if it is a constituent of the tree, it has another label or none, else it is a
    constituent.
    """

    subset: _Subset
    starts: Ints  # (spans,)
    ends: Ints  # (spans,)
    is_constituent: Mask  # (spans,) of the tree
    bounds: Doubles  # (spans,) on the log-probabilities of the trees of each part

    def part(self, chart: LabelChart, place: int) -> _Subset:
        subset = _Subset(*(array.copy() for array in self.subset))
        is_agreed = self.is_constituent[:place]
        subset.labeled[self.starts[:place][~is_agreed], self.ends[:place][~is_agreed]] = -np.inf
        for number in np.flatnonzero(is_agreed).tolist():
            position = int(self.starts[number]), int(self.ends[number])
            subset.require_constituent(position)
            subset.is_fixed[position] = True
        position = int(self.starts[place]), int(self.ends[place])
        if self.is_constituent[place]:
            subset.labeled[position] = subset.next_labels(chart, self.starts[[place]], self.ends[[place]])[0]
            subset.ranks[position] += 1
        else:
            subset.require_constituent(position)
        return subset


class _Search:
    """A search for the k most probable trees of a sentence."""

    def __init__(self, chart: LabelChart, k: int) -> None:
        self.chart = chart
        self.k = k
        self.log_probs: dict[Constituents, float] = {}  # all trees seen
        self.computed = 0  # subsets whose charts have been computed
        self._best: list[float] = []  # a heap of the k highest log-probabilities
        self._numbers = count()
        # divisions with the place of a part, by the bound of that part; the later parts of a division follow it
        self._queue: list[tuple[float, int, _Division, int]] = []
        self._add_subsets([_Subset.all_trees(chart)])

    @property
    def threshold(self) -> float:
        """The log-probability of the k-th best tree so far."""
        return self._best[0] if len(self._best) == self.k else -math.inf

    @property
    def is_complete(self) -> bool:
        """Whether no tree outside of `log_probs` can be among the k best."""
        return not self._queue or -self._queue[0][0] <= self.threshold

    def _push(self, division: _Division, place: int) -> None:
        if place < len(division.bounds) and division.bounds[place] > self.threshold:
            heapq.heappush(self._queue, (-float(division.bounds[place]), next(self._numbers), division, place))

    def step(self) -> None:
        """Takes the parts with the highest bounds, and divides them."""
        subsets: list[_Subset] = []
        while len(subsets) < _BATCH and not self.is_complete:
            _, _, division, place = heapq.heappop(self._queue)
            subsets.append(division.part(self.chart, place))
            self._push(division, place + 1)
        if subsets:
            self._add_subsets(subsets)

    def _add_subsets(self, subsets: Sequence[_Subset]) -> None:
        """Computes the charts of subsets, adds their best trees, and divides the rest of each subset."""
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
            self._push(self._divide(subsets[number], tree, log_bounds[number], marginals[number]), 0)

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

    def _divide(self, subset: _Subset, tree: Constituents, log_bound: float, marginals: Doubles) -> _Division:
        """Divides all trees of a subset but one.

        The bound of a subset is linear in the potential of a span, whose share of the bound is the marginal.
        """
        positions = [position for position, _ in tree]
        is_constituent = np.zeros(subset.labeled.shape, np.bool_)
        is_constituent[tuple(np.array(positions, np.int64).reshape(-1, 2).T)] = True
        is_open = compatible_spans(positions, len(subset.free)) & ~subset.is_fixed & (subset.labeled > -np.inf)
        starts, ends = is_open.nonzero()
        is_constituent, marginals = is_constituent[starts, ends], marginals[starts, ends]
        labeled, free = subset.labeled[starts, ends], subset.free[starts, ends]
        other = np.maximum(free, subset.next_labels(self.chart, starts, ends))
        with np.errstate(over="ignore"):  # free may be -inf where a span is a constituent, and that share is not used
            shares = np.where(
                is_constituent,
                np.maximum(1 - marginals, _MIN_MASS) + marginals * np.exp(other - labeled),
                np.maximum(marginals, _MIN_MASS) * np.exp(labeled - free),
            )
        bounds = log_bound + np.log(shares) + _SLACK
        order = np.argsort(-bounds, kind="stable")
        return _Division(subset, starts[order], ends[order], is_constituent[order], bounds[order])


def rank_trees(chart: LabelChart, k: int, *, should_stop: Callable[[], bool] | None = None) -> TreeRanking:
    """The k most probable trees.

    The search ends early at the limit on its work, or when `should_stop` returns true. It then has at least one tree.
    """
    share = min(1.0, (_LONG / chart.length) ** 3)
    max_subsets = share * (_MAX_SUBSETS + _MAX_SUBSETS_PER_TREE * k) + 2 * k
    search = _Search(chart, k)
    while not search.is_complete and search.computed < max_subsets and not (should_stop and should_stop()):
        search.step()
    trees = sorted(search.log_probs.items(), key=lambda item: -item[1])[:k]
    return TreeRanking(trees, search.is_complete)
