"""SpanCRF: the probability distribution over the binary trees of a sentence."""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import register_kl

from treecrf.chart import dispatch, distribution, torch_backend
from treecrf.chart.distribution import TreeDistribution
from treecrf.chart.kbest import best_trees


class SpanCRF(TreeDistribution):
    """A distribution over binary trees, for each sentence of a batch. A tree's score is the sum of its spans' scores.

    `scores` is (..., n + 1, n + 1) by fencepost, after any batch dimensions: `scores[b, i, j]` scores `words[i:j]`.
    Cells outside a sentence are never read. Results are shaped like scores; trees are boolean charts.

    >>> scores = torch.zeros(1, 4, 4)
    >>> scores[0, 0, 2] = 1.0
    >>> crf = SpanCRF(scores, [3])
    >>> round(crf.marginals[0, 0, 2].item(), 3)  # two trees, with odds of e to 1
    0.731
    >>> crf.argmax[0].nonzero().tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]

    Spans that are not `allowed` have a score of -inf, so no tree contains them. The drop in `log_partition` is the
    log-probability of this constraint. `split_scores` (..., n + 1, n + 1, n + 1) are scores of split points: a tree
    that splits `words[i:j]` at k has `split_scores[b, i, k, j]` in addition. Without `validate`, values are not checked
    and the device is not synchronized.
    """

    _tensors: ClassVar[Sequence[str]] = ("scores", "split_scores")
    _unit = "spans"

    def __init__(
        self,
        scores: Tensor,
        lengths: Tensor | Sequence[int],
        *,
        allowed: Tensor | None = None,
        split_scores: Tensor | None = None,
        validate: bool = True,
    ) -> None:
        distribution.check_chart("scores", scores)
        self.lengths = distribution.check_lengths(lengths, scores)
        if allowed is not None:
            distribution.check_tensor("allowed", allowed, scores.shape, torch.bool)
        if split_scores is not None:
            distribution.check_tensor("split_scores", split_scores, (*scores.shape, scores.shape[-1]))
            is_split = torch_backend.splits(torch_backend.span_mask(self.lengths, scores.shape[-1]))
            if validate and not (is_split <= (split_scores < torch.inf)).all():
                raise ValueError("split_scores have NaN or inf inside a sentence; expected numbers, or -inf")
        self.scores = scores if allowed is None else scores.masked_fill(~allowed, -torch.inf)
        self.split_scores = split_scores
        self._validate = validate
        has_infinities = validate and distribution.check_values(scores, self.lengths)
        self._is_constrained = validate and (has_infinities or allowed is not None or split_scores is not None)
        super().__init__(scores.shape[-1])

    @property
    def _chart_scores(self) -> Tensor:
        return self.scores

    @cached_property
    def _inside(self) -> tuple[Tensor, Tensor]:
        if self.split_scores is None:
            return super()._inside
        chart, log_z = torch_backend.inside(*self._flat(self.scores, self.lengths, self.split_scores))
        self._check_feasible(log_z)
        return dispatch.unflatten(log_z, self.lengths), dispatch.unflatten(chart, self.lengths)

    @property
    def marginals(self) -> Tensor:
        """The probability of every span."""
        return self._chart_marginals if self.split_scores is None else self._anchored_marginals[0]

    @property
    def split_marginals(self) -> Tensor:
        """The probability of every split, (..., n + 1, n + 1, n + 1): of span (i, j) at k at index [i, k, j]."""
        return self._anchored_marginals[1]

    @cached_property
    def _anchored_marginals(self) -> tuple[Tensor, Tensor]:
        """The probabilities of spans and of splits: the gradients of log Z."""
        _ = self._inside

        def log_partition(scores: Tensor, split_scores: Tensor) -> Tensor:
            return torch_backend.inside(*self._flat(scores, self.lengths, split_scores))[1].sum()

        splits = self.scores.new_zeros(*self.scores.shape, self.scores.shape[-1])
        arguments = self.scores.to(self._dtype), splits if self.split_scores is None else self.split_scores
        spans, splits = torch.func.grad(log_partition, (0, 1))(*arguments)
        return spans, splits

    @cached_property
    def argmax(self) -> Tensor:
        """The most probable tree."""
        return self._best_tree(self.scores, self.split_scores)

    def mbr(self) -> Tensor:
        """The tree with the highest sum of marginals, which is its expected number of correct spans."""
        values = self.marginals.detach().masked_fill(self.scores.detach() == -torch.inf, -torch.inf)
        if self.split_scores is None:
            return self._best_tree(values, None)
        return self._best_tree(values, torch.where(self.split_scores == -torch.inf, -torch.inf, 0.0))

    def _best_tree(self, chart: Tensor, split_scores: Tensor | None) -> Tensor:
        if self._is_constrained:
            _ = self._inside  # raises an error if the allowed spans form no tree
        if split_scores is None:
            return dispatch.cky(chart, self.lengths)
        with torch.no_grad():
            return dispatch.unflatten(torch_backend.cky(*self._flat(chart, self.lengths, split_scores)), self.lengths)

    def _score(self, trees: Tensor) -> Tensor:
        self._check_trees(trees)
        return self._sum_scores(trees)

    def _sum_scores(self, trees: Tensor) -> Tensor:
        scores = torch.where(trees, self.scores, 0.0).sum((-1, -2), dtype=torch.float64)
        if self.split_scores is None:
            return scores
        is_split = torch_backend.splits(trees)
        return scores + torch.where(is_split, self.split_scores, 0.0).sum((-1, -2, -3), dtype=torch.float64)

    def cross_entropy(self, other: "SpanCRF") -> Tensor:
        """The cross-entropy of `other` relative to this distribution, in nats, shaped like the batch."""
        self._check_pair(other)
        # A tree has 2n - 1 spans. Dividing log Z among them keeps huge scores from canceling only at the end.
        # Spans of probability 0 contribute nothing, although their score may be -inf.
        span_log_z = (other._inside[0] / (2 * self.lengths - 1))[..., None, None]
        surprisal = torch.where(self.marginals > 0, span_log_z - other.scores, 0.0)
        total = (self.marginals.double() * surprisal).sum((-1, -2))
        if other.split_scores is not None:
            split_scores = torch.where(self.split_marginals > 0, other.split_scores, 0.0)
            total = total - (self.split_marginals.double() * split_scores).sum((-1, -2, -3))
        return total.to(self._dtype)

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        scores, lengths, split_scores = self._flat(self.scores, self.lengths, self.split_scores)
        trees = torch_backend.sample(scores, lengths, split_scores, count, generator)
        return trees.view(count, *self.batch_shape, *self.event_shape)

    def kbest(self, k: int) -> tuple[Tensor, Tensor]:
        """The scores (k, *batch) of the k best trees, in descending order, and the trees (k, *batch, n + 1, n + 1).

        If a sentence has fewer than k trees, the remaining ones have a score of -inf and no spans.
        """
        _ = self._inside
        scores, lengths, split_scores = self._flat(self.scores, self.lengths, self.split_scores)
        ranked = best_trees(scores[..., None], lengths, k, split_scores=split_scores)
        trees = (ranked.choices >= 0).view(k, *self.batch_shape, *self.event_shape)
        has_tree = trees.flatten(-2).any(-1)
        return self._sum_scores(trees).masked_fill(~has_tree, -torch.inf).to(self._dtype), trees

    def _check_trees(self, trees: Tensor) -> None:
        if trees.dtype != torch.bool or trees.shape[-self.scores.dim() :] != self.scores.shape:
            raise ValueError(
                f"trees are {tuple(trees.shape)} of {trees.dtype}; expected torch.bool of the shape of scores, "
                f"{tuple(self.scores.shape)}, with any leading dimensions"
            )
        if self._validate and (index := distribution.first_invalid_tree(trees, self.lengths)) is not None:
            sentence = index % self.lengths.numel()
            count, length = int(trees.flatten(0, -3)[index].sum()), int(self.lengths.flatten()[sentence])
            raise ValueError(
                f"sentence {distribution.position(sentence, self.batch_shape)}: {count} spans that are not a binary "
                f"tree over {length} words; expected {2 * length - 1} spans that do not cross"
            )


register_kl(SpanCRF, SpanCRF)(SpanCRF.kl)


def margin_loss(scores: Tensor, lengths: Tensor, gold: Tensor, *, margin: float = 1.0) -> Tensor:
    """The structured hinge loss with Hamming cost: the best cost-augmented score minus the gold tree's score, (b,).

    `scores` is (b, n + 1, n + 1, labels); `gold` is (b, n + 1, n + 1): the label of each gold span, -1 elsewhere. Each
    labeled span that is not gold costs `margin`. The maximum over labels is taken before the cubic loop.
    """
    is_gold = gold >= 0
    gold_scores = scores.gather(-1, gold.clamp(min=0)[..., None])[..., 0]
    is_gold_label = torch.nn.functional.one_hot(gold.clamp(min=0), scores.shape[-1]).bool() & is_gold[..., None]
    augmented = torch.where(is_gold_label, scores, scores + margin).amax(-1)
    best_tree = SpanCRF(augmented.detach().float(), lengths, validate=False).argmax
    violation = torch.where(best_tree, augmented, 0.0) - torch.where(is_gold, gold_scores, 0.0)
    return violation.sum((-1, -2)).clamp(min=0)
