"""What parsers believe about sentences: probabilities that another learns beside the gold trees."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.data.batch import IGNORED, Batch
from treecrf.nn.outputs import Scores


class SoftTargets(NamedTuple):
    """Probabilities of all spans of a batch, of the labels that its gold spans have, and of its tags.

    What has no gold class has no probability either, so that it is left out of every loss.
    """

    spans: Tensor  # (b, n + 1, n + 1)
    labels: Tensor  # (m, labels)
    tags: Tensor | None  # (b, n, tags)
    distillation_weight: float  # how much they count beside the gold trees: from 0, not at all, to 1, alone

    @staticmethod
    def of(all_scores: Sequence[Scores], batch: Batch, *, distillation_weight: float) -> "SoftTargets":
        """What several networks believe of a batch, on average; tags only where all of them predict some."""
        assert batch.labels is not None and batch.gold_tags is not None
        spans = _mean([SpanCRF(scores.spans, scores.lengths, validate=False).marginals for scores in all_scores])
        labels = _mean([scores.labels_at(batch.spans).softmax(-1) for scores in all_scores])
        tags = [scores.tags.float().softmax(-1) for scores in all_scores if scores.tags is not None]
        return SoftTargets(
            spans=spans,
            labels=labels * (batch.labels != IGNORED)[:, None],
            tags=_mean(tags) * (batch.gold_tags != IGNORED)[..., None] if len(tags) == len(all_scores) else None,
            distillation_weight=distillation_weight,
        )

    def span_loss(self, crf: SpanCRF) -> Tensor:
        """The surprise of a distribution over the trees that they believe in, summed over sentences."""
        return (crf.log_partition - (self.spans * crf.scores).sum((1, 2))).sum()


def _mean(parts: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(parts)).mean(0)
