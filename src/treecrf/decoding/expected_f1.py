"""Expected-F1 decoding: the utility of a label over a span.

The utility of a constituent is its probability minus a threshold. A tree with maximal total utility has maximal
expected F1 when the threshold is half of that F1. Intermediate labels of the binarization have no constituents and no
utility. A span gets its most probable label, or no label if that label's utility is negative. The label of maximal
utility would be worse: the constituents of `S SQ` may be probable because of the labels `S` and `SQ`, although no tree
has both.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treecrf.chart.cpu_backend import Doubles, Floats, Ints
from treecrf.chart.threads import num_threads, run_on_threads
from treecrf.decoding.log_space import log_softmax
from treecrf.treebank.binarize import LabelSet

try:
    from treecrf.runtime import _kernels
except ImportError:  # installed on a machine without a C compiler
    _compiled = False
else:
    _compiled = True

_THREAD_SPANS = 128  # spans per thread: they take a few times as long as waking the thread


@dataclass(frozen=True, kw_only=True, eq=False)
class ExpectedF1:
    """Scores labels by the probabilities of their constituents minus a threshold for each."""

    threshold: float
    constituents: Doubles  # (labels, names): 1 where the label's unary chain contains the constituent
    counts: Doubles  # (labels,): constituents per label

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise ValueError(f"f1_threshold is {self.threshold}; expected a probability between 0 and 1")

    @staticmethod
    def for_labels(labels: LabelSet, threshold: float) -> "ExpectedF1":
        """The utility of these labels."""
        return ExpectedF1(
            threshold=threshold,
            constituents=labels.contains[:, :-1].astype(np.float64),
            counts=labels.counts.astype(np.float64),
        )

    @cached_property
    def empty_label(self) -> int:
        """A label without constituents; all of them give the same tree."""
        return int(self.counts.argmin())

    @cached_property
    def _common(self) -> Doubles:
        """The number of constituents that each pair of labels has in common, (labels, labels)."""
        common: Doubles = self.constituents @ self.constituents.T
        return common

    @cached_property
    def _sparse(self) -> tuple[Ints, Ints]:
        """The constituents of each label as a sparse matrix: the first entry of each label, and the column of each."""
        first_entries = np.concatenate([[0], self.constituents.sum(1).astype(np.int64).cumsum()])
        return first_entries, np.ascontiguousarray(self.constituents.nonzero()[1])

    def best_labels(self, label_scores: Floats, marginals: Floats) -> tuple[Floats, Ints]:
        """Returns the utility and the label of each span, for label scores (spans, labels) and marginals (spans,).

        Label scores are -inf where a constraint forbids the label.
        """
        if _compiled and label_scores.dtype == marginals.dtype == np.float32:
            return self._compiled_best_labels(label_scores, marginals)
        probabilities = np.exp(log_softmax(label_scores))
        labels = label_scores.argmax(-1)
        expected = (probabilities * self._common[labels]).sum(-1)  # the constituents of the best label, in all labels
        utility = marginals * expected - self.threshold * self.counts[labels]
        is_dropped = (utility < 0) & (label_scores[:, self.empty_label] > -np.inf)
        utility, labels = np.where(is_dropped, 0.0, utility), np.where(is_dropped, self.empty_label, labels)
        return utility.astype(label_scores.dtype), labels

    def _compiled_best_labels(self, label_scores: Floats, marginals: Floats) -> tuple[Floats, Ints]:
        spans = len(label_scores)
        first_entries, columns = self._sparse
        settings = (spans, *self.constituents.shape, len(columns), self.empty_label, self.threshold)
        utility, labels = np.empty(spans, dtype=np.float32), np.empty(spans, dtype=np.int64)
        inputs = (
            np.ascontiguousarray(label_scores),
            np.ascontiguousarray(marginals),
            first_entries,
            columns,
            self.counts,
        )
        arrays = (*inputs, utility, np.zeros(1, dtype=np.int64), labels)  # a counter that the threads share
        threads = max(1, min(num_threads(), spans // _THREAD_SPANS))
        run_on_threads(_kernels.label_utility, threads, *settings, *(array.ctypes.data for array in arrays))
        return utility, labels
