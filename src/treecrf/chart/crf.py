"""SpanCRF: the probability distribution over the binary trees of a sentence."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from treecrf.chart import dispatch, torch_backend
from treecrf.chart.kbest import LazyTrees
from treecrf.chart.sampling import sample_trees


class SpanCRF:
    """A distribution over binary trees, for each sentence of a batch. A tree's score is the sum of its spans' scores.

    `scores` is (b, n + 1, n + 1) by fencepost: `scores[b, i, j]` scores `words[i:j]`. Cells outside a sentence are
    never read. Results are shaped like scores; trees are boolean charts.

    >>> scores = torch.zeros(1, 4, 4)
    >>> scores[0, 0, 2] = 1.0
    >>> crf = SpanCRF(scores, [3])
    >>> round(crf.marginals[0, 0, 2].item(), 3)  # two trees, with odds of e to 1
    0.731
    >>> crf.argmax[0].nonzero().tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]

    Spans that are not `allowed` have a score of -inf, so no tree contains them. The drop in `log_partition` is the
    log-probability of this constraint. Without `validate`, values are not checked and the device is not synchronized.
    """

    def __init__(
        self, scores: Tensor, lengths: Tensor | Sequence[int], *, allowed: Tensor | None = None, validate: bool = True
    ) -> None:
        lengths = torch.as_tensor(lengths)
        _check_shapes(scores, lengths, allowed)
        self._constrained = allowed is not None
        if validate:
            self._constrained |= _check_values(scores, lengths)
        self.lengths = lengths.to(scores.device, torch.int64).contiguous()
        self.scores = scores if allowed is None else scores.masked_fill(~allowed, -torch.inf)
        self._validate = validate

    @cached_property
    def _inside(self) -> tuple[Tensor, Tensor]:
        """log Z in float64 and the inside chart."""
        log_z, chart = dispatch.LogPartition.apply(self.scores, self.lengths)
        self._check_feasible(log_z)
        return log_z, chart

    def _check_feasible(self, log_z: Tensor) -> None:
        if self._constrained and (log_z == -torch.inf).any():
            sentence = int((log_z == -torch.inf).nonzero()[0])
            raise ValueError(f"sentence {sentence}: the allowed spans form no tree; allow more spans")

    @property
    def _dtype(self) -> torch.dtype:
        return torch.promote_types(self.scores.dtype, torch.float32)

    @property
    def log_partition(self) -> Tensor:
        """log Z: the log of the sum over all trees of their exponentiated scores, (b,)."""
        return self._inside[0].to(self._dtype)

    @cached_property
    def marginals(self) -> Tensor:
        """The probability of every span."""
        if "_inside" in vars(self) or self.scores.requires_grad:
            marginals: Tensor = dispatch.Marginals.apply(self.scores, self.lengths, self._inside[1])
            return marginals
        chart, log_z, marginals = dispatch.inside_outside(self.scores, self.lengths)
        self._check_feasible(log_z)
        self._inside = log_z, chart
        return marginals

    @cached_property
    def argmax(self) -> Tensor:
        """The most probable tree."""
        return self._best_tree(self.scores)

    def mbr(self) -> Tensor:
        """The tree with the highest sum of marginals, which is its expected number of correct spans."""
        return self._best_tree(self.marginals.detach().masked_fill(self.scores.detach() == -torch.inf, -torch.inf))

    def _best_tree(self, chart: Tensor) -> Tensor:
        if self._constrained:
            _ = self._inside  # raises an error if the allowed spans form no tree
        with torch.no_grad():
            tree: Tensor = dispatch.select_backend(chart).cky(chart, self.lengths)
        return tree

    def score(self, trees: Tensor) -> Tensor:
        """The scores of trees: the sums of their spans' scores, (..., b)."""
        return self._score(trees).to(self._dtype)

    def _score(self, trees: Tensor) -> Tensor:
        self._check_trees(trees)
        return torch.where(trees, self.scores, 0.0).sum((-1, -2), dtype=torch.float64)

    def log_prob(self, trees: Tensor) -> Tensor:
        """The log-probabilities of trees, (..., b); -inf for a tree with a forbidden span."""
        return (self._score(trees) - self._inside[0]).to(self._dtype)

    @property
    def entropy(self) -> Tensor:
        """The entropy in nats, (b,)."""
        return self.cross_entropy(self)

    def cross_entropy(self, other: "SpanCRF") -> Tensor:
        """The cross-entropy of `other` relative to this distribution, in nats, (b,)."""
        self._check_pair(other)
        # A tree has 2n - 1 spans. Dividing log Z among them keeps huge scores from canceling only at the end.
        # Spans of probability 0 contribute nothing, although their score may be -inf.
        span_log_z = (other._inside[0] / (2 * self.lengths - 1))[:, None, None]
        surprisal = torch.where(self.marginals > 0, span_log_z - other.scores, 0.0)
        return (self.marginals.double() * surprisal).sum((-1, -2)).to(self._dtype)

    def kl(self, other: "SpanCRF") -> Tensor:
        """The Kullback-Leibler divergence of this distribution from `other`, in nats, (b,)."""
        return self.cross_entropy(other) - self.entropy

    def sample(self, k: int, *, generator: torch.Generator | None = None) -> Tensor:
        """k random trees of each sentence, (k, b, n + 1, n + 1)."""
        _ = self._inside
        return sample_trees(self.scores, self.lengths, k, generator)

    def kbest(self, k: int) -> tuple[Tensor, Tensor]:
        """The scores (k, b) of the k best trees, in descending order, and the trees (k, b, n + 1, n + 1).

        If a sentence has fewer than k trees, the remaining ones have a score of -inf and no spans.
        """
        if k < 1:
            raise ValueError(f"k is {k}; expected at least 1")
        _ = self._inside
        trees = _kbest_trees(self.scores, self.lengths, k)
        scores = torch.where(trees, self.scores, 0.0).sum((-1, -2), dtype=torch.float64)
        return scores.masked_fill(~trees.flatten(2).any(-1), -torch.inf).to(self._dtype), trees

    def _check_trees(self, trees: Tensor) -> None:
        if trees.dtype != torch.bool or trees.shape[-3:] != self.scores.shape:
            raise ValueError(
                f"trees are {tuple(trees.shape)} of {trees.dtype}; expected torch.bool of the shape of scores, "
                f"{tuple(self.scores.shape)}, with any leading dimensions"
            )
        if self._validate:
            self._check_binary(trees.reshape(-1, *trees.shape[-2:]))

    def _check_binary(self, charts: Tensor) -> None:
        """Checks that charts are binary trees: their 2n - 1 spans are then all in one tree, which CKY finds."""
        lengths = self.lengths.repeat(len(charts) // len(self.lengths))
        common = dispatch.select_backend(charts.float()).cky(charts.float(), lengths) & charts
        is_wrong = (common.sum((-1, -2)) != 2 * lengths - 1) | (charts.sum((-1, -2)) != 2 * lengths - 1)
        if is_wrong.any():
            tree = int(is_wrong.nonzero()[0])
            raise ValueError(
                f"sentence {tree % len(self.lengths)}: {int(charts[tree].sum())} spans that are not a binary tree over "
                f"{lengths[tree]} words; expected {2 * lengths[tree] - 1} spans that do not cross"
            )

    def _check_pair(self, other: "SpanCRF") -> None:
        if self.scores.shape != other.scores.shape or not torch.equal(self.lengths, other.lengths):
            raise ValueError(
                f"the other distribution has scores {tuple(other.scores.shape)} and lengths {other.lengths.tolist()}; "
                f"expected {tuple(self.scores.shape)} and {self.lengths.tolist()}"
            )


def _check_shapes(scores: Tensor, lengths: Tensor, allowed: Tensor | None) -> None:
    shape = tuple(scores.shape)
    if scores.dim() != 3 or shape[1] != shape[2] or shape[0] < 1 or shape[1] < 2 or not scores.is_floating_point():
        raise ValueError(
            f"scores are {shape} of {scores.dtype}; expected floating point (b, n + 1, n + 1) for at most n words"
        )
    if tuple(lengths.shape) != shape[:1] or lengths.is_floating_point():
        raise ValueError(
            f"lengths are {tuple(lengths.shape)} of {lengths.dtype}; expected {shape[0]} integers, one per sentence"
        )
    if allowed is not None and (allowed.shape != scores.shape or allowed.dtype != torch.bool):
        raise ValueError(
            f"allowed is {tuple(allowed.shape)} of {allowed.dtype}; expected {shape} of torch.bool, like scores"
        )


def _check_values(scores: Tensor, lengths: Tensor) -> bool:
    """Checks lengths and scores; returns whether any score is -inf."""
    size = scores.shape[-1]
    for sentence, length in enumerate(lengths.tolist()):
        if not 1 <= length < size:
            raise ValueError(
                f"sentence {sentence}: length {length}; expected 1 to {size - 1}, the number of words that scores has"
            )
    low, high = torch.stack(torch.aminmax(scores.detach())).tolist()
    if not high < torch.inf:
        invalid = (~(scores < torch.inf) & torch_backend.span_mask(lengths.to(scores.device), size)).nonzero()
        if len(invalid):
            sentence, start, end = invalid[0].tolist()
            raise ValueError(
                f"sentence {sentence}: the score of span ({start}, {end}) is {scores[sentence, start, end].item()}; "
                "expected a finite number, or -inf for a forbidden span"
            )
    return not low > -torch.inf


def _kbest_trees(scores: Tensor, lengths: Tensor, count: int) -> Tensor:
    """The `count` best trees of each sentence, best first, (count, b, n + 1, n + 1); empty after the last tree."""
    batch, size = scores.shape[:2]
    trees = torch.zeros(count, batch, size, size, dtype=torch.bool)
    for b, (chart, length) in enumerate(zip(scores.detach().double().cpu(), lengths.tolist(), strict=True)):
        lazy_trees = LazyTrees(chart.numpy(), length)
        for rank in range(count):
            spans = lazy_trees.spans(rank)
            if not spans:
                break
            starts, ends = zip(*spans, strict=True)
            trees[rank, b, list(starts), list(ends)] = True
    return trees.to(scores.device)
