"""TreeCRF: the probability distribution over labeled trees whose constituents have any number of children.

A label over a span is a constituent, or it is *free*: the span then has no constituent. A tree has one derivation, the
left-binarized one: its constituents, the spans that join the first two or more children of a constituent, its words and
the whole sentence. So a span may be free as a left child, as a word, or over the whole sentence, and a right child of
two or more words is a constituent. With a(i, j) the log-sum of the potentials of constituents and f(i, j) of free
labels:

    u(i, j) = log(exp a(i, j) + exp f(i, j))      score of a span
    r(i, j) = a(i, j) - u(i, j)                   additional score of a right child; 0 over one word

Sums over trees are sums over the binary trees of a chart with scores u and additional scores r of right children.
Because a tree has one derivation, the entropy over trees and the divergence of two distributions are exact.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import register_kl

from treecrf.chart import dispatch, distribution, torch_backend
from treecrf.chart.distribution import TreeDistribution
from treecrf.chart.kbest import best_trees
from treecrf.chart.labels import LabelChart, LabelWeights
from treecrf.chart.torch_backend import exp_difference, right_children, span_mask


class TreeCRF(TreeDistribution):
    """A distribution over labeled trees, for each sentence of a batch.

    `span_scores` is (..., n + 1, n + 1) and `label_scores` (..., n + 1, n + 1, labels), by fencepost, after any batch
    dimensions. The log-potential of a label over a span is the span's score plus the log-softmax of its label scores,
    as in a two-stage parser, or with `normalize_labels=False` plus the label score itself. `is_constituent` (labels,)
    tells constituents from free labels. A label that is not `allowed`, (..., n + 1, n + 1, labels), is in no tree.
    Without `validate`, values are not checked and the device is not synchronized.

    A tree is a chart (..., n + 1, n + 1) with the label of each constituent, and -1 elsewhere.

    >>> is_constituent = torch.tensor([True, True, False])
    >>> options = {"is_constituent": is_constituent, "normalize_labels": False}
    >>> crf = TreeCRF(torch.zeros(1, 3, 3), torch.zeros(1, 3, 3, 3), [2], **options)
    >>> round(crf.log_partition.exp().item())  # two words and the whole sentence, each with one of three labels
    27
    """

    _tensors: ClassVar[Sequence[str]] = ("span_scores", "label_scores", "allowed")
    _settings: ClassVar[Sequence[str]] = (*TreeDistribution._settings, "is_constituent", "normalize_labels")
    _unit = "labels"

    def __init__(
        self,
        span_scores: Tensor,
        label_scores: Tensor,
        lengths: Tensor | Sequence[int],
        *,
        is_constituent: Tensor | Sequence[bool],
        normalize_labels: bool = True,
        allowed: Tensor | None = None,
        validate: bool = True,
    ) -> None:
        distribution.check_chart("span_scores", span_scores)
        self.lengths = distribution.check_lengths(lengths, span_scores)
        self.is_constituent = torch.as_tensor(is_constituent, device=span_scores.device)
        distribution.check_tensor("is_constituent", self.is_constituent, self.is_constituent.shape[:1], torch.bool)
        distribution.check_tensor("label_scores", label_scores, (*span_scores.shape, len(self.is_constituent)))
        if allowed is not None:
            distribution.check_tensor("allowed", allowed, label_scores.shape, torch.bool)
        self.span_scores, self.label_scores, self.allowed = span_scores, label_scores, allowed
        self.normalize_labels = normalize_labels
        self._validate = self._is_constrained = validate
        super().__init__(span_scores.shape[-1])

    @cached_property
    def _labels(self) -> Tensor:
        """The scores of labels; -inf for labels that are not allowed."""
        scores = self.label_scores.to(self._dtype)
        return scores if self.allowed is None else scores.masked_fill(~self.allowed, -torch.inf)

    @cached_property
    def _chart(self) -> tuple[Tensor, Tensor]:
        """The scores of the chart, and the sums over labels."""
        # without constraints, the log-softmax of all labels sums to zero
        adds_labels = not self.normalize_labels or self.allowed is not None
        offsets = self._offsets if adds_labels else self.span_scores
        arguments = self._labels, self.lengths, self.is_constituent
        scores, sums = LabelChart.apply(offsets, *arguments, adds_labels)
        if self._validate:
            distribution.check_values(sums, self.lengths)
            self._is_constrained = distribution.check_values(scores, self.lengths)
        return scores, sums

    @property
    def _chart_scores(self) -> Tensor:
        return self._chart[0]

    @property
    def _sums(self) -> tuple[Tensor, Tensor, Tensor]:
        """The log-sums of the scores of constituents, of free labels, and of all labels."""
        constituents, free, labels = self._chart[1].unbind(-3)
        return constituents, free, labels

    @cached_property
    def _offsets(self) -> Tensor:
        """The differences of log-potentials and label scores; 0 outside the sentences."""
        offsets = self.span_scores.double().where(span_mask(self.lengths, self.event_shape[0]), 0.0)
        if not self.normalize_labels:
            return offsets
        if self.allowed is None:
            return offsets - self._sums[2]
        label_scores = self.label_scores.to(self._dtype)
        _, sums = LabelChart.apply(offsets, label_scores, self.lengths, self.is_constituent, False)
        return offsets - sums[..., 2, :, :]

    @cached_property
    def potentials(self) -> Tensor:
        """The log-potentials of labels, (..., n + 1, n + 1, labels); 0 outside the sentences."""
        is_span = span_mask(self.lengths, self.event_shape[0])[..., None]
        return (self._offsets[..., None] + self._labels).where(is_span, 0.0)

    @property
    def _free(self) -> Tensor:
        """The log-sum of the potentials of free labels."""
        return self._offsets + self._sums[1]

    @cached_property
    def _span_marginals(self) -> tuple[Tensor, Tensor]:
        """The probabilities that a span has a constituent, and that the derivation has it without one."""
        spans, right_children = self._chart_marginals.unbind(-3)
        sums, _, labels = self._sums
        # right children of two or more words are constituents, and a share of all other spans
        constituents = right_children.triu(2).lerp(spans, exp_difference(sums, labels))
        return constituents, spans - constituents

    @cached_property
    def marginals(self) -> Tensor:
        """The probability of every labeled constituent, (..., n + 1, n + 1, labels); 0 for free labels."""
        flags = self.is_constituent, True, False
        arguments = self._labels, self._chart[1], self._chart_marginals, None, self.lengths, *flags
        marginals: Tensor = LabelWeights.apply(*arguments)
        return marginals

    def _score(self, trees: Tensor) -> Tensor:
        self._check_trees(trees)
        is_constituent = trees >= 0
        labels = self._labels.expand(*trees.shape, -1).gather(-1, trees.clamp(min=0)[..., None])[..., 0]
        is_free = derivation(is_constituent, self.lengths) & ~is_constituent
        labeled = torch.where(is_constituent, self._offsets + labels, 0.0)
        return (labeled + torch.where(is_free, self._free, 0.0)).sum((-1, -2))

    @cached_property
    def argmax(self) -> Tensor:
        """The most probable tree."""
        return self._best_tree(self.potentials, self._free)

    def mbr(self) -> Tensor:
        """The tree with the highest expected number of correct constituents."""
        values = self.marginals.masked_fill(self._labels == -torch.inf, -torch.inf)
        return self._best_tree(values, torch.where(self._free == -torch.inf, -torch.inf, 0.0))

    def _best_tree(self, label_values: Tensor, free: Tensor) -> Tensor:
        """The tree whose constituents have the highest sum of values; other spans of its derivation have `free`."""
        _ = self._chart_scores
        if self._is_constrained:
            _ = self._inside  # raises an error if the allowed labels form no tree
        values, labels = label_values.detach().masked_fill(~self.is_constituent, -torch.inf).max(-1)
        free = free.detach()
        either = torch.maximum(values.double(), free)
        spans = dispatch.cky(torch.stack((either, _right_scores(values, either)), -3), self.lengths)
        return torch.where(spans & ((values > free) | right_children(spans).triu(2)), labels, -1)

    def cross_entropy(self, other: "TreeCRF") -> Tensor:
        """The cross-entropy of `other` relative to this distribution, in nats, shaped like the batch."""
        self._check_pair(other)
        labeled, (constituents, free) = self.marginals, self._span_marginals
        labels = (labeled * torch.where(labeled > 0, other._labels, 0.0)).sum((-1, -2, -3), dtype=torch.float64)
        spans = constituents * other._offsets + free * torch.where(free > 0, other._free, 0.0)
        return (other._inside[0] - labels - spans.sum((-1, -2))).to(self._dtype)

    @torch.no_grad()
    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        scores, lengths, labels = self._flat(self._chart_scores, self.lengths, self._labels)
        spans = torch_backend.sample(scores, lengths, None, count, generator)
        sample, sentence, start, end = spans.nonzero(as_tuple=True)
        values = labels[sentence, start, end]
        needs_constituent = right_children(spans).triu(2)[sample, sentence, start, end]
        values = values.masked_fill(needs_constituent[:, None] & ~self.is_constituent, -torch.inf)
        ids = torch.multinomial(values.softmax(-1), 1, generator=generator)[:, 0]
        trees = torch.full(spans.shape, -1, device=spans.device)
        trees[sample, sentence, start, end] = torch.where(self.is_constituent[ids], ids, -1)
        return trees.view(count, *self.batch_shape, *self.event_shape)

    def kbest(self, k: int) -> tuple[Tensor, Tensor]:
        """The log-probabilities (k, *batch) of the k most probable trees, in descending order, and the trees.

        If a sentence has fewer than k trees, the remaining ones have a log-probability of -inf and no constituents.
        """
        _ = self._inside
        labels = self.label_scores.shape[-1]
        labeled = self.potentials.detach().masked_fill(~self.is_constituent, -torch.inf)
        values = torch.cat((labeled, self._free.detach()[..., None]), -1)
        is_right_choice = torch.arange(labels + 1, device=values.device) < labels  # the last choice is no constituent
        values, lengths = self._flat(values, self.lengths)
        ranked = best_trees(values, lengths, k, is_right_choice=is_right_choice)
        scores = ranked.scores.view(k, *self.batch_shape) - self._inside[0].detach()
        trees = ranked.choices.masked_fill(ranked.choices == labels, -1).view(k, *self.batch_shape, *self.event_shape)
        return scores.to(self._dtype), trees

    def _check_trees(self, trees: Tensor) -> None:
        shape = (*self.batch_shape, *self.event_shape)
        if trees.is_floating_point() or trees.dtype == torch.bool or trees.shape[-len(shape) :] != shape:
            raise ValueError(
                f"trees are {tuple(trees.shape)} of {trees.dtype}; expected labels as integers, {shape} with any "
                "leading dimensions"
            )
        if not self._validate:
            return
        is_label = (trees >= 0) & (trees < len(self.is_constituent))
        if not ((trees == -1) | is_label & self.is_constituent[trees.where(is_label, 0)]).all():
            raise ValueError("trees have numbers that are not labels of constituents; expected these, or -1")
        index = distribution.first_invalid_tree(derivation(trees >= 0, self.lengths), self.lengths)
        if index is not None or ((trees >= 0) & ~span_mask(self.lengths, self.event_shape[0])).any():
            sentence = (
                ""
                if index is None
                else f"sentence {distribution.position(index % self.lengths.numel(), self.batch_shape)}: "
            )
            raise ValueError(f"{sentence}constituents that cross or are outside of the sentence; expected a tree")


register_kl(TreeCRF, TreeCRF)(TreeCRF.kl)


def derivation(is_constituent: Tensor, lengths: Tensor) -> Tensor:
    """The spans of the left-binarized derivations of trees, given their constituents, both (..., b, n + 1, n + 1).

    They are the constituents, the words, the whole sentence, and each span that crosses no constituent and starts with
    a longer one.
    """
    size = is_constituent.shape[-1]
    fence = torch.arange(size, device=lengths.device)
    start, end = fence[:, None], fence
    is_span = span_mask(lengths, size)
    nodes = ((is_constituent | (start == 0) & (end == lengths[..., None, None])) & is_span).long()
    # nodes that a span (i, j) crosses: they start before i and end inside it, or start inside it and end after j
    starts_before = (nodes.cumsum(-2) - nodes) * (end > start)  # [i, q]: the number of nodes (p, q) with p < i
    ends_after = (nodes.sum(-1, keepdim=True) - nodes.cumsum(-1)) * (end > start)  # [p, j]: nodes (p, q) with q > j
    crossings = starts_before.cumsum(-1) - starts_before + ends_after.flip(-2).cumsum(-2).flip(-2) - ends_after
    return is_span & (nodes.bool() | (end == start + 1) | ((crossings == 0) & (ends_after > 0)))


def _right_scores(constituents: Tensor, either: Tensor) -> Tensor:
    """The additional scores of right children: the share of constituents in the scores of longer spans."""
    is_long = torch.ones_like(either, dtype=torch.bool).triu(2) & (either > -torch.inf)
    return torch.where(is_long, constituents - either.where(is_long, 0.0), 0.0)
