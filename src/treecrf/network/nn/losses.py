"""Training losses: CRF and cross-entropy or max-margin, with optional soft targets.

Distillation has the predicted probabilities of teachers as soft targets beside the gold trees. The
loss "tree" is the CRF loss of gold forests: all derivations of a gold tree.

No function here synchronizes the device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from treecrf.chart.crf import SpanCRF, margin_loss
from treecrf.network.data.batch import IGNORED, SPECIAL
from treecrf.network.data.extensions import BUILT_IN, load_extension
from treecrf.network.nn.batch import Spans, TensorBatch
from treecrf.network.nn.forests import forest_loss
from treecrf.network.nn.scorers import TensorScores


class SoftTargets(NamedTuple):
    """Probabilities of all spans of a batch, of the labels of its gold spans, and of its tags.

    Items without a gold class have zero probabilities, so that no loss counts them.
    """

    spans: Tensor  # (b, n + 1, n + 1)
    labels: Tensor  # (m, labels)
    tags: Tensor | None  # (b, n, tags)
    distillation_weight: float  # weight of the soft targets, from 0 to 1; the gold trees have the rest

    @staticmethod
    def from_scores(
        teacher_scores: Sequence[TensorScores], batch: TensorBatch, *, distillation_weight: float
    ) -> "SoftTargets":
        """The mean probabilities of several teachers; for tags, only of teachers that predict them."""
        tags = [scores.tags.float().softmax(-1) for scores in teacher_scores if scores.tags is not None]
        return SoftTargets(
            spans=_mean([SpanCRF(scores.spans, scores.lengths, validate=False).marginals for scores in teacher_scores]),
            labels=_mean([scores.labels_at(batch.spans).softmax(-1) for scores in teacher_scores]),
            tags=_mean(tags) if tags else None,
            distillation_weight=distillation_weight,
        )._without_ignored(batch)

    def _without_ignored(self, batch: TensorBatch) -> "SoftTargets":
        """The same targets with zeros for items without a gold class."""
        _, labels, tags = batch.require("cells", "labels", "gold_tags")
        return self._replace(
            labels=self.labels * (labels != IGNORED)[:, None],
            tags=None if self.tags is None else self.tags * (tags != IGNORED)[..., None],
        )

    def with_gold_trees(self, batch: TensorBatch, is_gold: Tensor) -> "SoftTargets":
        """The same targets, but the gold trees of some sentences (b,)."""
        _, labels, gold_tags = batch.require("cells", "labels", "gold_tags")
        gold = torch.zeros_like(self.spans)
        gold.view(-1).index_fill_(0, batch.spans.cells, 1)
        is_gold_span = is_gold[batch.spans.lefts // (batch.longest + 1), None]
        tags = self.tags
        if tags is not None:
            tags = torch.where(is_gold[:, None, None], F.one_hot(gold_tags.clamp(min=0), tags.shape[-1]), tags)
        return self._replace(
            spans=torch.where(is_gold[:, None, None], gold, self.spans),
            labels=torch.where(is_gold_span, F.one_hot(labels.clamp(min=0), self.labels.shape[-1]), self.labels),
            tags=tags,
        )._without_ignored(batch)

    def span_loss(self, crf: SpanCRF) -> Tensor:
        """The cross-entropy of a distribution over trees to the teachers' distribution, summed over sentences."""
        return (crf.log_partition - (self.spans * crf.scores).sum((1, 2))).sum()


class SoftTargetStore:
    """The soft targets of all training sentences, in half precision on the device of the training run.

    Teachers are slow, and their probabilities do not change: each sentence is scored once, before training. Teachers
    that read conditions score it once for each of `TOLD`. The last sentence of the store is the one that pads batches:
    one word, whose label and tag are ignored.
    """

    TOLD = ("nothing", "scheme", "tags")  # what a network is told of a sentence, with the scheme if it is told tags

    def __init__(
        self,
        lengths: Sequence[int],
        *,
        labels: int,
        tags: int,
        distillation_weight: float,
        device: torch.device,
        told: Sequence[bool] | None = None,
    ) -> None:
        """Reserves the memory of sentences with these numbers of words; without `tags` the targets have none.

        `told` says which sentences teachers may be told anything of; None: teachers are told nothing.
        """
        self.told, self._count, self._teachers_are_told = told, len(lengths), told is not None
        told_lengths = np.where(told, lengths, 1) if told is not None else np.zeros(0)
        words = np.concatenate([lengths, told_lengths, told_lengths, [1]]).astype(np.int64)
        self._span_starts, self._label_starts, self._tag_starts = (
            torch.from_numpy(np.cumsum(sizes) - sizes).to(device) for sizes in ((words + 1) ** 2, 2 * words - 1, words)
        )
        zeros = partial(torch.zeros, dtype=torch.float16, device=device)
        self._spans = zeros(int(((words + 1) ** 2).sum()))
        self._labels = zeros(int((2 * words - 1).sum()), labels)
        self._tags = zeros(int(words.sum()), tags) if tags else None
        self._distillation_weight = distillation_weight
        self._spans[-3] = 1  # the cell (0, 1) of the last sentence

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All probabilities by name; copying others into them fills the store."""
        tensors = {"spans": self._spans, "labels": self._labels}
        return tensors if self._tags is None else {**tensors, "tags": self._tags}

    def write(self, batch: TensorBatch, targets: SoftTargets) -> None:
        """Stores the targets of a batch without padding."""
        cells, is_cell = self._cells(batch)
        self._spans[cells[is_cell]] = targets.spans[is_cell].half()
        self._labels[self._label_rows(batch)] = targets.labels.half()
        if self._tags is not None and targets.tags is not None:
            rows, is_word = self._tag_rows(batch)
            self._tags[rows[is_word]] = targets.tags[is_word].half()

    def read(self, batch: TensorBatch) -> SoftTargets:
        """The targets of a batch. Equal shapes launch the same kernels, so that a CUDA graph can capture this."""
        cells, is_cell = self._cells(batch)
        tags = None
        if self._tags is not None:
            rows, is_word = self._tag_rows(batch)
            tags = self._tags[torch.where(is_word, rows, 0)].float()
        targets = SoftTargets(
            spans=self._spans[torch.where(is_cell, cells, 0)].float(),  # cell 0 is an empty span
            labels=self._labels[self._label_rows(batch)].float(),
            tags=tags,
            distillation_weight=self._distillation_weight,
        )._without_ignored(batch)
        if batch.schemes is None or self._teachers_are_told:
            return targets
        return targets.with_gold_trees(batch, self._told(batch) > 0)

    @staticmethod
    def _told(batch: TensorBatch) -> Tensor:
        """The kind of conditions that the network reads for each sentence, (b,), as a number in `TOLD`."""
        schemes, tags = batch.require("schemes", "tags")
        return torch.where((tags >= len(SPECIAL)).any(1), 2, (schemes > 0).long())

    def _sentences(self, batch: TensorBatch) -> Tensor:
        """The stored place of each sentence, (b,)."""
        (ids,) = batch.require("sentence_ids")
        if batch.schemes is None or not self._teachers_are_told:
            return ids
        return torch.where(ids < 0, ids, ids + self._count * self._told(batch))

    def _cells(self, batch: TensorBatch) -> tuple[Tensor, Tensor]:
        """The stored place of each cell of a batch's charts, (b, n + 1, n + 1), and whether it has one."""
        lengths = batch.lengths[:, None, None]
        fenceposts = torch.arange(batch.longest + 1, device=batch.device)
        starts = self._span_starts[self._sentences(batch)][:, None, None]
        is_inside = fenceposts <= batch.lengths[:, None]
        return (
            starts + fenceposts[:, None] * (lengths + 1) + fenceposts,
            is_inside[:, :, None] & is_inside[:, None, :],
        )

    def _label_rows(self, batch: TensorBatch) -> Tensor:
        """The stored row of each gold span, (m,); spans that pad a batch have the row of the span that they repeat."""
        span_counts = 2 * batch.lengths - 1
        first_spans = span_counts.cumsum(0) - span_counts
        sentences = batch.spans.lefts // (batch.longest + 1)
        ranks = torch.arange(len(sentences), device=batch.device) - first_spans[sentences]
        return self._label_starts[self._sentences(batch)][sentences] + ranks.minimum(span_counts[sentences] - 1)

    def _tag_rows(self, batch: TensorBatch) -> tuple[Tensor, Tensor]:
        """The stored row of each word, (b, n), and whether the place has a word."""
        words = torch.arange(batch.longest, device=batch.device)
        return self._tag_starts[self._sentences(batch)][:, None] + words, words < batch.lengths[:, None]


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(tensors)).mean(0)


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
    kind: str, scores: TensorScores, batch: TensorBatch, soft_targets: SoftTargets | None, *, margin: float = 1.0
) -> Loss:
    """The losses of a batch with gold trees; soft targets do not affect the margin loss, which alone has a margin.

    The loss of another package is a function of the scores, the batch and the soft targets.
    """
    if kind not in BUILT_IN["loss"]:
        loss: Loss = load_extension("loss", kind)(scores, batch, soft_targets)
        return loss
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
    spans = _bracket_loss(crf, gold) if batch.forest_cells is None else forest_loss(crf, scores, batch)
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
