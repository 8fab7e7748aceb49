"""Expected-F1 decoding: the utility of a label over a span.

The utility of a constituent is its probability minus a threshold. A tree with maximal total utility has maximal
expected F1 when the threshold is half of that F1. Intermediate labels of the binarization have no constituents and no
utility. A span gets its most probable label, or no label if that label's utility is negative. The label of maximal
utility would be worse: the constituents of `S SQ` may be probable because of the labels `S` and `SQ`, although no tree
has both.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from treecrf.runtime.int8 import CompiledUtility, why_unsupported
from treecrf.treebank.binarize import LabelSet

_CPU_ROWS = 1024  # spans per block on a CPU, so that a block stays in the cache


@dataclass(frozen=True, kw_only=True)
class ExpectedF1:
    """Scores labels by the probabilities of their constituents minus a threshold for each."""

    threshold: float
    constituents: Tensor  # (labels, names), float64: 1 where the label's unary chain contains the constituent
    counts: Tensor  # (labels,), float64: constituents per label

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise ValueError(f"f1_threshold is {self.threshold}; expected a probability between 0 and 1")

    @staticmethod
    def for_labels(labels: LabelSet, threshold: float) -> "ExpectedF1":
        """The utility of these labels."""
        return ExpectedF1(
            threshold=threshold,
            constituents=torch.from_numpy(labels.contains[:, :-1]).double(),
            counts=torch.from_numpy(labels.counts).double(),
        )

    @cached_property
    def empty_label(self) -> int:
        """A label without constituents; all of them give the same tree."""
        return int(self.counts.argmin())

    @cached_property
    def _compiled(self) -> CompiledUtility | None:
        """The compiled version, if this device has one."""
        if self.constituents.device.type != "cpu" or why_unsupported():
            return None
        return CompiledUtility(self.constituents, self.counts, self.threshold, self.empty_label)

    def to(self, device: torch.device) -> "ExpectedF1":
        """A copy on a device."""
        return ExpectedF1(
            threshold=self.threshold, constituents=self.constituents.to(device), counts=self.counts.to(device)
        )

    def best_labels(self, label_scores: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the utility and the label of each span, for label scores (spans, labels) and marginals (spans,).

        Label scores are -inf where a constraint forbids the label.
        """
        if self._compiled is not None and label_scores.dtype == marginals.dtype == torch.float32:
            return self._compiled(label_scores, marginals)
        rows = max(1, len(label_scores)) if label_scores.is_cuda else _CPU_ROWS
        blocks = zip(label_scores.split(rows), marginals.split(rows), strict=True)
        utilities, labels = zip(*(self._best_labels(*block) for block in blocks), strict=True)
        return torch.cat(utilities).to(label_scores.dtype), torch.cat(labels)

    def _best_labels(self, label_scores: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        probabilities = label_scores.double().softmax(-1)  # in float64, rounding does not depend on the batch
        labels = label_scores.argmax(-1)
        expected = (probabilities @ self.constituents * self.constituents[labels]).sum(-1)
        utility = marginals * expected - self.threshold * self.counts[labels]
        is_dropped = (utility < 0) & (label_scores[:, self.empty_label] > -torch.inf)
        return utility.masked_fill(is_dropped, 0.0), labels.masked_fill(is_dropped, self.empty_label)
