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

import torch
from torch import Tensor

from treecrf.chart import torch_backend
from treecrf.chart.sampling import sample_trees
from treecrf.chart.torch_backend import logsumexp
from treecrf.chart.tree_kbest import best_trees


class TreeCRF:
    """A distribution over labeled trees, for each sentence of a batch.

    `span_scores` is (b, n + 1, n + 1) and `label_scores` (b, n + 1, n + 1, labels), by fencepost. The log-potential of
    a label over a span is the span's score plus the log-softmax of its label scores, as in a two-stage parser, or with
    `normalize_labels=False` plus the label score itself. `is_constituent` (labels,) tells constituents from free
    labels. A label that is not `allowed`, (b, n + 1, n + 1, labels), is in no tree.

    A tree is a chart (b, n + 1, n + 1) with the label of each constituent, and -1 elsewhere.
    """

    def __init__(
        self,
        span_scores: Tensor,
        label_scores: Tensor,
        lengths: Tensor | Sequence[int],
        *,
        is_constituent: Tensor,
        normalize_labels: bool = True,
        allowed: Tensor | None = None,
    ) -> None:
        labels = label_scores.double().log_softmax(-1) if normalize_labels else label_scores.double()
        self.lengths = torch.as_tensor(lengths, device=span_scores.device)
        self.is_constituent = is_constituent.to(span_scores.device)
        self._is_span = torch_backend.span_mask(self.lengths, span_scores.shape[-1])
        potentials = span_scores.double()[..., None] + labels
        if allowed is not None:
            potentials = potentials.masked_fill(~allowed, -torch.inf)
        self.potentials = potentials.masked_fill(~self._is_span[..., None], 0.0)

    @cached_property
    def _constituents(self) -> Tensor:
        """a: the log-sum of the potentials of constituents."""
        return logsumexp(self.potentials.masked_fill(~self.is_constituent, -torch.inf), -1)

    @cached_property
    def _free(self) -> Tensor:
        """f: the log-sum of the potentials of free labels."""
        return logsumexp(self.potentials.masked_fill(self.is_constituent, -torch.inf), -1)

    @cached_property
    def _scores(self) -> tuple[Tensor, Tensor]:
        either = logsumexp(torch.stack((self._constituents, self._free)), 0)
        return either, _right_scores(self._constituents, either)

    @cached_property
    def log_partition(self) -> Tensor:
        """log Z: the log of the sum over all trees of their exponentiated scores, (b,)."""
        scores, right_scores = self._scores
        log_z = torch_backend.inside(scores, self.lengths, right_scores)[1]
        if (log_z == -torch.inf).any():
            sentence = int((log_z == -torch.inf).nonzero()[0])
            raise ValueError(f"sentence {sentence}: the allowed labels form no tree; allow more labels")
        return log_z

    @cached_property
    def _span_marginals(self) -> tuple[Tensor, Tensor]:
        """The probabilities that a span has a constituent, and that the derivation has it without one."""
        is_differentiable = torch.is_grad_enabled() and self.potentials.requires_grad
        with torch.enable_grad():
            scores, right_scores = self._scores
            if not is_differentiable:
                scores, right_scores = (chart.detach().requires_grad_() for chart in self._scores)
            log_z = torch_backend.inside(scores, self.lengths, right_scores)[1]
            spans, right_children = torch.autograd.grad(
                log_z.sum(), (scores, right_scores), create_graph=is_differentiable, materialize_grads=True
            )
        right_children = right_children.triu(2)
        others = spans - right_children
        is_possible = scores > -torch.inf
        share = torch.where(is_possible, self._constituents - scores.where(is_possible, 0.0), -torch.inf).exp()
        return right_children + others * share, others * (1 - share)

    @cached_property
    def marginals(self) -> Tensor:
        """The probability of every labeled constituent, (b, n + 1, n + 1, labels); 0 for free labels."""
        total = self._constituents
        is_possible = total > -torch.inf
        posteriors = (self.potentials - total.where(is_possible, 0.0)[..., None]).exp()
        posteriors = posteriors.masked_fill(~(is_possible & self._is_span)[..., None] | ~self.is_constituent, 0.0)
        return self._span_marginals[0][..., None] * posteriors

    def score(self, trees: Tensor) -> Tensor:
        """The scores of trees, (..., b): the sums of the log-potentials in their derivations."""
        is_constituent = trees >= 0
        labeled = self.potentials.expand(*trees.shape, -1).gather(-1, trees.clamp(min=0)[..., None])[..., 0]
        is_free = derivation(is_constituent, self.lengths) & ~is_constituent
        return torch.where(is_constituent, labeled, torch.where(is_free, self._free, 0.0)).sum((-1, -2))

    def log_prob(self, trees: Tensor) -> Tensor:
        """The log-probabilities of trees, (..., b)."""
        return self.score(trees) - self.log_partition

    @cached_property
    def argmax(self) -> Tensor:
        """The most probable tree."""
        return self._best_tree(self.potentials, self._free)

    def mbr(self) -> Tensor:
        """The tree with the highest expected number of correct constituents."""
        values = self.marginals.masked_fill(self.potentials == -torch.inf, -torch.inf)
        return self._best_tree(values, torch.where(self._free == -torch.inf, -torch.inf, 0.0))

    @torch.no_grad()
    def _best_tree(self, label_values: Tensor, free: Tensor) -> Tensor:
        """The tree whose constituents have the highest sum of values; other spans of its derivation have `free`."""
        values, labels = label_values.masked_fill(~self.is_constituent, -torch.inf).max(-1)
        either = torch.maximum(values, free)
        spans = torch_backend.cky(either, self.lengths, _right_scores(values, either))
        return torch.where(spans & ((values > free) | _right_children(spans)), labels, -1)

    @property
    def entropy(self) -> Tensor:
        """The entropy over trees in nats, (b,)."""
        return self.cross_entropy(self)

    def cross_entropy(self, other: "TreeCRF") -> Tensor:
        """The cross-entropy of `other` relative to this distribution, in nats, (b,)."""
        constituents, free = self.marginals, self._span_marginals[1]
        labeled = (constituents * torch.where(constituents > 0, other.potentials, 0.0)).sum((-1, -2, -3))
        unlabeled = (free * torch.where(free > 0, other._free, 0.0)).sum((-1, -2))
        return other.log_partition - labeled - unlabeled

    def kl(self, other: "TreeCRF") -> Tensor:
        """The Kullback-Leibler divergence of this distribution from `other`, in nats, (b,)."""
        return self.cross_entropy(other) - self.entropy

    @torch.no_grad()
    def sample(self, k: int, *, generator: torch.Generator | None = None) -> Tensor:
        """k random trees of each sentence, (k, b, n + 1, n + 1)."""
        _ = self.log_partition  # raises if a sentence has no tree
        scores, right_scores = self._scores
        spans = sample_trees(scores, self.lengths, k, generator, right_scores)
        sample, sentence, start, end = spans.nonzero(as_tuple=True)
        values = self.potentials[sentence, start, end]
        needs_constituent = _right_children(spans)[sample, sentence, start, end]
        values = values.masked_fill(needs_constituent[:, None] & ~self.is_constituent, -torch.inf)
        labels = torch.multinomial(values.softmax(-1), 1, generator=generator)[:, 0]
        trees = torch.full(spans.shape, -1, device=spans.device)
        trees[sample, sentence, start, end] = torch.where(self.is_constituent[labels], labels, -1)
        return trees

    @torch.no_grad()
    def kbest(self, k: int) -> tuple[Tensor, Tensor]:
        """The log-probabilities (k, b) of the k most probable trees, in descending order, and the trees.

        If a sentence has fewer than k trees, the remaining ones have a log-probability of -inf and no constituents.
        """
        if k < 1:
            raise ValueError(f"k is {k}; expected at least 1")
        labeled = self.potentials.masked_fill(~self.is_constituent, -torch.inf)
        ranked = best_trees(labeled, self._free, self.lengths, k)
        return ranked.scores - self.log_partition, ranked.labels


def derivation(is_constituent: Tensor, lengths: Tensor) -> Tensor:
    """The spans of the left-binarized derivations of trees, given their constituents, both (..., b, n + 1, n + 1).

    They are the constituents, the words, the whole sentence, and each span that crosses no constituent and starts with
    a longer one.
    """
    size = is_constituent.shape[-1]
    fence = torch.arange(size, device=lengths.device)
    start, end = fence[:, None], fence
    is_span = torch_backend.span_mask(lengths, size)
    nodes = ((is_constituent | (start == 0) & (end == lengths[:, None, None])) & is_span).long()
    # nodes that a span (i, j) crosses: they start before i and end inside it, or start inside it and end after j
    starts_before = (nodes.cumsum(-2) - nodes) * (end > start)  # [i, q]: the number of nodes (p, q) with p < i
    ends_after = (nodes.sum(-1, keepdim=True) - nodes.cumsum(-1)) * (end > start)  # [p, j]: nodes (p, q) with q > j
    crossings = starts_before.cumsum(-1) - starts_before + ends_after.flip(-2).cumsum(-2).flip(-2) - ends_after
    return is_span & (nodes.bool() | (end == start + 1) | ((crossings == 0) & (ends_after > 0)))


def _right_scores(constituents: Tensor, either: Tensor) -> Tensor:
    """The additional scores of right children: the share of constituents in the scores of longer spans."""
    is_long = torch.ones_like(either, dtype=torch.bool).triu(2) & (either > -torch.inf)
    return torch.where(is_long, constituents - either.where(is_long, 0.0), 0.0)


def _right_children(spans: Tensor) -> Tensor:
    """The spans of two or more words that are right children: another span has the same end and an earlier start."""
    has_earlier_start = spans.long().cumsum(-2) > spans.long()
    return (spans & has_earlier_start).triu(2)
