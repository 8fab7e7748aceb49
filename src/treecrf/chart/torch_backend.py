"""Inside, outside and CKY in PyTorch operations, for any device; computes all spans of one width at a time.

For spans (i, j) of width w = j - i, with beta(i, j) the log-sum over the trees of a span:

    beta(i, j) = s(i, j) + logsumexp_k  beta(i, k) + beta(k, j)                                   (inside)
    mu(i, j)   = sum over parents p with sibling q  exp(outer(p) + beta(i, j) + beta(q))          (outside)
    outer(p)   = log mu(p) + s(p) - beta(p)

Work charts are (batch, width, position) in float64. There is one by a span's start and one by its end, so that both
operands of the split loop are slices. `inside` is differentiable twice. Memory is O(n^2), unless autograd records the
operations. Spans that reach past a sentence's end are computed but never read.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def by_width(chart: Tensor) -> Tensor:
    """Converts a chart (b, start, end) to (b, width, start), in float64."""
    size = chart.shape[-1]
    start, end = torch.triu_indices(size, size, 1, device=chart.device)
    rows = chart.new_zeros(chart.shape, dtype=torch.float64)
    batch = torch.arange(len(chart), device=chart.device)[:, None]
    return rows.index_put((batch, end - start, start), chart[:, start, end].double())


def by_fencepost(rows: Tensor) -> Tensor:
    """Converts a chart (b, width, start) to (b, start, end), with zeros below the diagonal."""
    size = rows.shape[-1]
    start, end = torch.triu_indices(size, size, 1, device=rows.device)
    chart = torch.zeros_like(rows)
    chart[:, start, end] = rows[:, end - start, start]
    return chart


def span_mask(lengths: Tensor, size: int) -> Tensor:
    """The mask of the cells that are spans of their sentence, (b, size, size)."""
    fence = torch.arange(size, device=lengths.device)
    return (fence[:, None] < fence) & (fence <= lengths[:, None, None])


def logsumexp(terms: Tensor, dim: int = 1) -> Tensor:
    """The logsumexp over a dimension, with finite gradients where all terms are -inf."""
    maximum = terms.detach().amax(dim, keepdim=True)
    maximum = maximum.masked_fill(maximum == -torch.inf, 0.0)
    total = (terms - maximum).exp().sum(dim)
    is_zero = total == 0
    return total.masked_fill(is_zero, 1.0).log().masked_fill(is_zero, -torch.inf) + maximum.squeeze(dim)


def inside(scores: Tensor, lengths: Tensor, right_scores: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """beta by width and start, and log Z of every sentence; a right child has its `right_scores` in addition."""
    beta = _combine_splits(scores, lengths, right_scores, logsumexp)
    return beta, beta[torch.arange(len(scores), device=scores.device), lengths, 0]


def _combine_splits(
    scores: Tensor, lengths: Tensor, right_scores: Tensor | None, reduce: Callable[[Tensor], Tensor]
) -> Tensor:
    """Each span's score plus the reduction over its splits of the sums of both sides, by width and start.

    `reduce` maps the sums for the spans of one width, (b, width - 1, spans), to (b, spans).
    """
    size, is_span = scores.shape[-1], span_mask(lengths, scores.shape[-1])
    rows = by_width(scores.where(is_span, 0.0))
    right_rows = torch.zeros_like(rows) if right_scores is None else by_width(right_scores.where(is_span, 0.0))
    by_start, by_end = torch.full_like(rows, -torch.inf), torch.full_like(rows, -torch.inf)
    for width in range(1, size):
        values = rows[:, width, : size - width]
        if width > 1:
            # left children of width k by start, right children of width - k by end
            values = values + reduce(by_start[:, 1:width, : size - width] + by_end[:, 1:width, width:].flip(1))
        by_start[:, width, : size - width] = values
        by_end[:, width, width:] = values + right_rows[:, width, : size - width]
    return by_start


def outside(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """The marginal of every span, for beta by width and start; a sum over its parents, from wide to narrow spans."""
    size = scores.shape[-1]
    by_start = chart
    by_end, outer_by_start, outer_by_end = (torch.full_like(chart, -torch.inf) for _ in range(3))
    for width in range(1, size):
        by_end[:, width, width:] = by_start[:, width, : size - width]
    rows = by_width(scores)
    mu = torch.zeros_like(chart)
    for width in range(size - 1, 0, -1):
        beta = by_start[:, width, : size - width]
        # siblings of width k on the right, under parents with the same start; on the left, with the same end
        right = outer_by_start[:, width + 1 :, : size - width] + by_start[:, 1 : size - width, width:]
        left = outer_by_end[:, width + 1 :, width:] + by_end[:, 1 : size - width, : size - width]
        row = (right + beta[:, None]).exp().sum(1) + (left + beta[:, None]).exp().sum(1)
        row[:, 0].masked_fill_((lengths == width) & (beta[:, 0] > -torch.inf), 1.0)
        mu[:, width, : size - width] = row
        outer = torch.where(row > 0, row.log() - (beta - rows[:, width, : size - width]), -torch.inf)
        outer_by_start[:, width, : size - width] = outer
        outer_by_end[:, width, width:] = outer
    return by_fencepost(mu).to(torch.promote_types(scores.dtype, torch.float32))


def _best_splits(scores: Tensor, lengths: Tensor, right_scores: Tensor | None) -> Tensor:
    """The split of each span's best tree, by width and start; the leftmost split wins a tie."""
    splits = torch.zeros(scores.shape, dtype=torch.int64, device=scores.device)

    def maximum(terms: Tensor) -> Tensor:
        values, split = terms.max(1)
        splits[:, terms.shape[1] + 1, : terms.shape[2]] = split + 1
        return values

    _combine_splits(scores, lengths, right_scores, maximum)
    return splits


def cky(scores: Tensor, lengths: Tensor, right_scores: Tensor | None = None) -> Tensor:
    """The best tree of every sentence; the leftmost split wins a tie."""
    splits = _best_splits(scores, lengths, right_scores)
    batch, size, _ = splits.shape
    marks = torch.zeros_like(splits, dtype=torch.bool)
    marks[torch.arange(batch, device=splits.device), lengths, 0] = True
    flat = marks.view(batch, -1)
    for width in range(size - 1, 1, -1):
        is_marked = marks[:, width, : size - width]
        split = splits[:, width, : size - width]
        start = torch.arange(size - width, device=splits.device)
        # unmarked spans write to width 0, which no span has
        left = torch.where(is_marked, split * size + start, 0)
        right = torch.where(is_marked, (width - split) * size + start + split, 0)
        flat.scatter_(1, left, True)
        flat.scatter_(1, right, True)
    return by_fencepost(marks)
