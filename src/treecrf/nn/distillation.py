"""Distillation: the predicted probabilities of teachers as soft targets beside the gold trees."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.data.batch import IGNORED
from treecrf.nn.batch import TensorBatch
from treecrf.nn.outputs import TensorScores


class SoftTargets(NamedTuple):
    """Probabilities of all spans of a batch, of the labels of its gold spans, and of its tags.

    Items without a gold class have zero probabilities, so that no loss counts them.
    """

    spans: Tensor  # (b, n + 1, n + 1)
    labels: Tensor  # (m, labels)
    tags: Tensor | None  # (b, n, tags)
    distillation_weight: float  # of the soft targets, from 0 to 1; the gold trees have the rest

    @staticmethod
    def from_scores(
        teacher_scores: Sequence[TensorScores], batch: TensorBatch, *, distillation_weight: float
    ) -> "SoftTargets":
        """The mean probabilities of several teachers; tags only if all teachers predict them."""
        assert batch.labels is not None and batch.gold_tags is not None
        spans = _mean([SpanCRF(scores.spans, scores.lengths, validate=False).marginals for scores in teacher_scores])
        labels = _mean([scores.labels_at(batch.spans).softmax(-1) for scores in teacher_scores])
        tags = [scores.tags.float().softmax(-1) for scores in teacher_scores if scores.tags is not None]
        return SoftTargets(
            spans=spans,
            labels=labels * (batch.labels != IGNORED)[:, None],
            tags=_mean(tags) * (batch.gold_tags != IGNORED)[..., None] if len(tags) == len(teacher_scores) else None,
            distillation_weight=distillation_weight,
        )

    def span_loss(self, crf: SpanCRF) -> Tensor:
        """The cross-entropy of a distribution over trees to the teachers' distribution, summed over sentences."""
        return (crf.log_partition - (self.spans * crf.scores).sum((1, 2))).sum()


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(tensors)).mean(0)
