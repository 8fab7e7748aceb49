"""The log-potentials of a sentence's spans with their best labels, and the exact probabilities of its trees."""

from collections.abc import Collection, Iterable

import numpy as np

from treecrf.arrays import Doubles, Ints
from treecrf.chart import inside
from treecrf.network.data.scores import Scores
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.log_space import log_softmax, logsumexp
from treecrf.parser.decoding.tree_probability import Position, compatible_spans
from treecrf.trees.treebank.binarize import LabelSet

_BLOCK = 1 << 14  # spans per block when the label scores of all spans are computed

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
