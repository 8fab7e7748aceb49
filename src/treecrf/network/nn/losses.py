"""Training losses: CRF and cross-entropy or max-margin, with optional soft targets.

No function here synchronizes the device.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.chart.margin import margin_loss
from treecrf.network.data.batch import IGNORED
from treecrf.network.data.model_config import LossKind
from treecrf.network.nn.batch import Spans, TensorBatch
from treecrf.network.nn.distillation import SoftTargets
from treecrf.network.nn.outputs import TensorScores


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Summed losses of a batch, and the number of words and labels in the sums."""

    spans: Tensor
    labels: Tensor
    tags: Tensor
    word_count: int
    label_count: int

    def total(self, *, word_count: int | Tensor | None = None, label_count: int | Tensor | None = None) -> Tensor:
        """The training objective: the sum of the mean losses.

        With the counts of a larger batch, the totals of its parts add up to its total.
        """
        per_word = (self.spans + self.tags) / (max(1, self.word_count) if word_count is None else word_count)
        return per_word + self.labels / (max(1, self.label_count) if label_count is None else label_count)


def compute_loss(
    kind: LossKind, scores: TensorScores, batch: TensorBatch, soft_targets: SoftTargets | None, *, margin: float = 1.0
) -> Loss:
    """The losses of a batch with gold trees; soft targets do not affect the margin loss, which alone has a margin."""
    if kind == "one-stage-margin":
        spans, labels = _margin_loss(scores, batch, margin), scores.spans.new_zeros(())
    else:
        spans, labels = _crf_losses(scores, batch, soft_targets)
    if kind == "one-stage-crf":
        # -log p(brackets) - log p(labels | brackets) is -log p(labeled tree): one loss, per word
        spans, labels = spans + labels, torch.zeros_like(labels)
    return Loss(
        spans=spans,
        labels=labels,
        tags=_tag_loss(scores, batch, soft_targets),
        word_count=batch.total_words,
        label_count=batch.total_labels,
    )


def _crf_losses(scores: TensorScores, batch: TensorBatch, soft_targets: SoftTargets | None) -> tuple[Tensor, Tensor]:
    """The losses of brackets, and of labels given the brackets."""
    gold, (_, gold_labels) = batch.spans, batch.require("cells", "labels")
    crf, label_scores = SpanCRF(scores.spans, scores.lengths, validate=False), scores.labels_at(gold)
    spans = _bracket_loss(crf, gold)
    labels = F.cross_entropy(label_scores, gold_labels, ignore_index=IGNORED, reduction="sum")
    if soft_targets is not None:
        weight = soft_targets.distillation_weight
        spans = spans.lerp(soft_targets.span_loss(crf), weight)
        labels = labels.lerp(F.cross_entropy(label_scores, soft_targets.labels, reduction="sum"), weight)
    return spans, labels


def _bracket_loss(crf: SpanCRF, gold: Spans) -> Tensor:
    """-log p(gold brackets), summed over sentences."""
    trees = torch.zeros_like(crf.scores, dtype=torch.bool)
    trees.view(-1).index_fill_(0, gold.cells, True)
    return -crf.log_prob(trees).sum()


def _margin_loss(scores: TensorScores, batch: TensorBatch, margin: float) -> Tensor:
    """The max-margin loss, summed over sentences; the best label replaces a gold label without an id."""
    assert scores.labels is not None
    gold, (_, gold_labels) = batch.spans, batch.require("cells", "labels")
    labels = torch.where(gold_labels == IGNORED, scores.labels_at(gold).detach().argmax(-1), gold_labels)
    label_chart = torch.full_like(scores.spans, -1, dtype=torch.int64)
    label_chart.view(-1).index_copy_(0, gold.cells, labels)
    return margin_loss(scores.labels, scores.lengths, label_chart, margin=margin).sum()


def _tag_loss(scores: TensorScores, batch: TensorBatch, soft_targets: SoftTargets | None) -> Tensor:
    if scores.tags is None:
        return scores.spans.new_zeros(())
    (gold_tags,) = batch.require("gold_tags")
    tags = scores.tags.flatten(0, 1)
    loss = F.cross_entropy(tags, gold_tags.flatten(), ignore_index=IGNORED, reduction="sum")
    if soft_targets is None or soft_targets.tags is None:
        return loss
    soft_loss = F.cross_entropy(tags, soft_targets.tags.flatten(0, 1), reduction="sum")
    return loss.lerp(soft_loss, soft_targets.distillation_weight)
