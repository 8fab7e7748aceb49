"""The distribution over the trees of each sentence: labeled trees whose nodes have any number of children.

A label of a span is a unary chain of constituents, or it is free: the span then is no constituent. The log-potential of
a label is the score of its span plus its log-probability given the span. A tree has one derivation, its left
binarization, in which a right child of two or more words is a constituent; so sums over trees are sums over binary
trees with scores of spans and additional scores of right children. `chart/tree_crf.py` defines the same distribution in
PyTorch. A model with the loss "tree" was trained on the sum over all binarizations of a tree instead. The scores of a
max-margin model are used as log-potentials; such a model has learned the order of trees but not their probabilities.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints, Mask, Reals
from treecrf.chart import compatible_spans, inside, outside
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.constraints import Position
from treecrf.parser.decoding.decode import span_potentials
from treecrf.parser.decoding.log_space import log_softmax, logsumexp
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, chain_spans, free_positions

_BLOCK = 1 << 14  # spans per block when the label scores of all spans are computed; a single block is kept


class _LabelCharts(NamedTuple):
    """Log-potentials of labels; charts are (b, n + 1, n + 1)."""

    labeled: Doubles  # the log-sum over labels with constituents
    free: Doubles  # the log-sum over free labels
    ranked: Doubles  # (b, n + 1, n + 1, choices): labels with constituents in descending order
    ids: Ints  # the same labels


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeDistribution:
    """The trees of b sentences. Charts are (b, n + 1, n + 1); `root` is the label of the root of every tree.

    `choices` is the number of labels in `best_labels`, which leaves out the `excluded` ones.
    """

    scores: Scores
    labels: LabelSet
    root: str
    all_derivations: bool = False  # whether the probability of a tree is the sum over all binarizations
    choices: int = 0
    excluded: Collection[int] = ()

    @cached_property
    def _span_potentials(self) -> Doubles:
        return span_potentials(self.scores).astype(np.float64).ravel()

    def cells(self, sentence: int, starts: Ints, ends: Ints) -> Ints:
        """The flat chart cells of spans."""
        size = self.scores.spans.shape[1]
        return (sentence * size + starts) * size + ends

    def potentials(self, cells: Ints) -> Doubles:
        """The log-potentials of all labels at flat chart cells, (m, labels)."""
        if len(self._cells) > _BLOCK:
            return self._compute_potentials(cells)
        potentials: Doubles = self._all_potentials[np.searchsorted(self._cells, cells)]
        return potentials

    def _compute_potentials(self, cells: Ints) -> Doubles:
        return self._span_potentials[cells, None] + log_softmax(self.scores.labels_at(cells))

    @cached_property
    def _cells(self) -> Ints:
        """The flat chart cells of all spans, ascending."""
        return np.flatnonzero(self.scores.is_span)

    @cached_property
    def _all_potentials(self) -> Doubles:
        """The log-potentials of all labels of all spans, which is for few spans."""
        return self._compute_potentials(self._cells)

    def is_free(self, sentence: int) -> Mask:
        """The labels (labels,) that make a span no constituent.

        In a sentence of one word, the empty label is not among them: it gives a tree without a root.
        """
        mask = np.zeros(len(self.labels.strings), np.bool_)
        mask[self.labels.free_labels(int(self.scores.lengths[sentence]))] = True
        return mask

    @cached_property
    def _label_charts(self) -> "_LabelCharts":
        lengths, size = self.scores.lengths, self.scores.spans.shape[1]
        cell_count, choices = len(lengths) * size**2, min(self.choices, len(self.labels.strings))
        sums, ranked = np.full((2, cell_count), -np.inf), np.full((cell_count, choices), -np.inf)
        ids = np.zeros((cell_count, choices), np.int32)
        is_free = np.stack([self.is_free(sentence) for sentence in range(len(lengths))])
        for first in range(0, len(self._cells), _BLOCK):
            cells = self._cells[first : first + _BLOCK]
            potentials, is_free_label = self.potentials(cells), is_free[cells // size**2]
            if is_free.any():
                sums[1, cells] = logsumexp(np.where(is_free_label, potentials, -np.inf)[:, is_free.any(0)])
            potentials[is_free_label] = -np.inf
            sums[0, cells] = logsumexp(potentials)
            potentials[:, list(self.excluded)] = -np.inf
            ids[cells], ranked[cells] = _largest(potentials, choices)
        shape = len(lengths), size, size
        labeled, free = sums.reshape(2, *shape)
        return _LabelCharts(labeled, free, ranked.reshape(*shape, choices), ids.reshape(*shape, choices))

    @property
    def free(self) -> Doubles:
        """The log-sum of the potentials of free labels."""
        return self._label_charts.free

    @property
    def best_labels(self) -> tuple[Doubles, Ints]:
        """The log-potentials of the best labels with constituents, in descending order, and the labels."""
        return self._label_charts.ranked, self._label_charts.ids

    @cached_property
    def either(self) -> Doubles:
        """The log-sum of the potentials of all labels."""
        return np.logaddexp(self._label_charts.labeled, self._label_charts.free)

    @cached_property
    def chart(self) -> Doubles:
        """The scores of spans, and the additional scores of right children, (b, 2, n + 1, n + 1)."""
        is_long = np.triu(self.either > -np.inf, 2)
        if self.all_derivations:
            is_long[:] = False
        right_scores = np.where(is_long, self._label_charts.labeled - np.where(is_long, self.either, 0.0), 0.0)
        return np.stack((self.either, right_scores), 1)

    @cached_property
    def _inside(self) -> tuple[Doubles, Doubles]:
        return inside(self.chart, self.scores.lengths)

    @property
    def log_z(self) -> Doubles:
        """The log of the sum over all trees, (b,)."""
        return self._inside[1]

    @cached_property
    def marginals(self) -> Reals:
        """The probability that a span is a constituent."""
        spans, right_children = outside(self.chart, self.scores.lengths, self._inside[0]).swapaxes(0, 1)
        right_children = np.triu(right_children, 2) * (not self.all_derivations)  # those that must be constituents
        with np.errstate(invalid="ignore"):  # forbidden spans: -inf - -inf
            shares = np.where(self.either > -np.inf, np.exp(self._label_charts.labeled - self.either), 0.0)
        marginals: Reals = right_children + (spans - right_children) * shares
        return marginals

    def constituent_probabilities(self, cells: Ints) -> Doubles:
        """The probabilities of constituents of spans, (m, names): the columns of `LabelSet.contains` but the last."""
        totals = self._label_charts.labeled.ravel()[cells]
        posteriors = np.exp(self.potentials(cells) - np.where(totals > -np.inf, totals, np.inf)[:, None])
        probabilities = self.marginals.ravel()[cells, None] * (posteriors @ self.labels.contains[:, :-1])
        return np.minimum(probabilities, 1.0)

    def root_probability(self, sentence: int) -> float:
        """The probability of the root: 1, except for a sentence of one word, which may have no root."""
        if self.scores.lengths[sentence] > 1 or "" not in self.labels.ids:
            return 1.0
        (potentials,) = self.potentials(self.cells(sentence, np.array([0]), np.array([1])))
        return 1.0 - float(np.exp(potentials[self.labels.ids[""]] - self.log_z[sentence]))

    def log_probs(self, trees: Sequence[Tree]) -> Doubles:
        """The log-probability of one tree for each sentence; -inf for a tree that the model never gives."""
        return np.array([self.log_prob(sentence, tree) for sentence, tree in enumerate(trees)])

    def log_prob(self, sentence: int, tree: Tree) -> float:
        self._check_tree(tree, int(self.scores.lengths[sentence]))
        return self.chains_log_prob(sentence, tree_chains(tree))

    def chains_log_prob(self, sentence: int, chains: Sequence[Span]) -> float:
        """The log-probability of a tree, given its `tree_chains`."""
        return min(0.0, self._score(sentence, chains) - float(self.log_z[sentence]))

    def _score(self, sentence: int, chains: Sequence[Span]) -> float:
        """The log-sum over the derivations of a tree."""
        length, ids = int(self.scores.lengths[sentence]), self.labels.ids
        if any(span.label not in ids for span in chains):
            return -np.inf
        starts, ends = np.array([span[:2] for span in chains], np.int64).reshape(-1, 2).T
        potentials = self.potentials(self.cells(sentence, starts, ends))
        values = potentials[np.arange(len(chains)), [ids[span.label] for span in chains]]
        positions = [(span.start, span.end) for span in chains]
        if self.all_derivations:
            return self._log_sum(sentence, dict(zip(positions, values.tolist(), strict=True)))
        free_starts, free_ends = np.array(free_positions(positions, length), np.int64).reshape(-1, 2).T
        return float(values.sum() + self.free[sentence, free_starts, free_ends].sum())

    def _log_sum(self, sentence: int, constituents: Mapping[Position, float]) -> float:
        """The log-sum over all binarizations of a tree with exactly these constituents, given their log-potentials."""
        size = int(self.scores.lengths[sentence]) + 1
        spans = np.where(compatible_spans(constituents, size), self.free[sentence, :size, :size], -np.inf)
        for position, value in constituents.items():
            spans[position] = value
        return float(inside(spans[None], np.array([size - 1]))[1][0])

    def _check_tree(self, tree: Tree, length: int) -> None:
        words = len(tree.preterminals())
        if words != length:
            raise ValueError(f"the tree has {words} words, but its sentence has {length}; expected the same words")
        if tree.label != self.root and not tree.is_leaf:
            raise ValueError(
                f"the root of the tree is {tree.label!r}; expected {self.root!r}, the root of the model's trees"
            )


def tree_chains(tree: Tree) -> list[Span]:
    """The spans of a tree whose labels are not free."""
    return [Span(0, 1, "")] if tree.is_leaf else chain_spans(tree.spans())


def _largest(values: Doubles, count: int) -> tuple[Ints, Doubles]:
    """The columns of the largest values of each row, the largest first, and these values."""
    rows, width = values.shape
    place = min(width - count, width - 1)
    cells = np.flatnonzero(values >= np.partition(values, place, -1)[:, place, None])
    if len(cells) == rows * count:
        columns = cells.reshape(rows, count) % width
    else:  # equal values, such as -inf; finding the columns themselves takes several times as long
        columns = np.argpartition(-values, min(count, width - 1), -1)[:, :count]
        columns.sort(-1)  # equal values: the first column comes first
    largest = np.take_along_axis(values, columns, -1)
    order = np.argsort(-largest, -1, kind="stable")
    return np.take_along_axis(columns, order, -1), np.take_along_axis(largest, order, -1)
