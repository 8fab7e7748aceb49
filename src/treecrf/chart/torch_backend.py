"""Inside, outside, CKY and samples in PyTorch operations, for any device; computes all spans of one width at a time.

For spans (i, j) of width w = j - i, with beta(i, j) the log-sum over the trees of a span:

    beta(i, j) = s(i, j) + logsumexp_k  beta(i, k) + beta(k, j) + r(k, j) + t(i, k, j)            (inside)
    mu(i, j)   = sum over parents p with sibling q  exp(outer(p) + beta(i, j) + beta(q) + r)      (outside)
    outer(p)   = log mu(p) + s(p) - beta(p)

r is an optional score of right children: scores are then (b, 2, n + 1, n + 1), s and r, and so are marginals, of a span
anywhere and as a right child. t is an optional score of splits, (b, n + 1, n + 1, n + 1), which `outside` has not.

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
    """The mask of the cells that are spans of their sentence, (..., size, size)."""
    fence = torch.arange(size, device=lengths.device)
    return (fence[:, None] < fence) & (fence <= lengths[..., None, None])


def right_children(trees: Tensor) -> Tensor:
    """The spans of binary trees that are right children: another span has the same end and an earlier start."""
    return trees & (trees.long().cumsum(-2) > 1)


def splits(trees: Tensor) -> Tensor:
    """The splits of binary trees, (..., i, k, j): the spans (i, j), (i, k) and (k, j) are in one tree."""
    return trees[..., :, None, :] & trees[..., :, :, None] & trees[..., None, :, :]


def logsumexp(terms: Tensor, dim: int = 1) -> Tensor:
    """The logsumexp over a dimension, with finite gradients where all terms are -inf."""
    maximum = terms.detach().amax(dim, keepdim=True)
    maximum = maximum.masked_fill(maximum == -torch.inf, 0.0)
    total = (terms - maximum).exp().sum(dim)
    is_zero = total == 0
    return total.masked_fill(is_zero, 1.0).log().masked_fill(is_zero, -torch.inf) + maximum.squeeze(dim)


def inside(scores: Tensor, lengths: Tensor, split_scores: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """beta by width and start, and log Z of every sentence."""
    beta = _combine_splits(scores, lengths, split_scores, logsumexp)
    return beta, beta[torch.arange(len(scores), device=scores.device), lengths, 0]


def separate_right_scores(scores: Tensor) -> tuple[Tensor, Tensor]:
    """The scores of spans and the additional scores of right children, both (b, n + 1, n + 1)."""
    return (scores, torch.zeros_like(scores)) if scores.dim() == 3 else (scores[:, 0], scores[:, 1])


def _rows(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The same by width and start, with zeros outside the sentences."""
    is_span = span_mask(lengths, scores.shape[-1])
    span_scores, right_scores = separate_right_scores(scores)
    return by_width(span_scores.where(is_span, 0.0)), by_width(right_scores.where(is_span, 0.0))


def _combine_splits(
    scores: Tensor, lengths: Tensor, split_scores: Tensor | None, reduce: Callable[[Tensor], Tensor]
) -> Tensor:
    """Each span's score plus the reduction over its splits of the sums of both sides, by width and start.

    `reduce` maps the sums for the spans of one width, (b, width - 1, spans), to (b, spans).
    """
    size, (rows, right_rows) = scores.shape[-1], _rows(scores, lengths)
    by_start, by_end = torch.full_like(rows, -torch.inf), torch.full_like(rows, -torch.inf)
    for width in range(1, size):
        values = rows[:, width, : size - width]
        if width > 1:
            # left children of width k by start, right children of width - k by end
            terms = by_start[:, 1:width, : size - width] + by_end[:, 1:width, width:].flip(1)
            if split_scores is not None:
                starts = torch.arange(size - width, device=scores.device)
                middles = starts + torch.arange(1, width, device=scores.device)[:, None]
                is_sentence = (starts + width <= lengths[:, None])[:, None]
                terms = terms + split_scores[:, starts, middles, starts + width].where(is_sentence, 0.0).double()
            values = values + reduce(terms)
        by_start[:, width, : size - width] = values
        by_end[:, width, width:] = values + right_rows[:, width, : size - width]
    return by_start


def outside(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """The marginals, shaped like scores, for beta by width and start; sums over parents, from wide to narrow spans."""
    size = scores.shape[-1]
    rows, right_rows = _rows(scores, lengths)
    by_start, right_by_start = chart, chart + right_rows
    by_end, outer_by_start, outer_by_end = (torch.full_like(chart, -torch.inf) for _ in range(3))
    for width in range(1, size):
        by_end[:, width, width:] = by_start[:, width, : size - width]
    mu, right_mu = torch.zeros_like(chart), torch.zeros_like(chart)
    for width in range(size - 1, 0, -1):
        beta, right_beta = by_start[:, width, : size - width], right_by_start[:, width, : size - width]
        # siblings of width k on the right, under parents with the same start; on the left, with the same end
        right = outer_by_start[:, width + 1 :, : size - width] + right_by_start[:, 1 : size - width, width:]
        left = outer_by_end[:, width + 1 :, width:] + by_end[:, 1 : size - width, : size - width]
        right_row = (left + right_beta[:, None]).exp().sum(1)
        row = (right + beta[:, None]).exp().sum(1) + right_row
        row[:, 0].masked_fill_((lengths == width) & (beta[:, 0] > -torch.inf), 1.0)
        mu[:, width, : size - width], right_mu[:, width, : size - width] = row, right_row
        outer = torch.where(row > 0, row.log() - (beta - rows[:, width, : size - width]), -torch.inf)
        outer_by_start[:, width, : size - width] = outer
        outer_by_end[:, width, width:] = outer
    marginals = by_fencepost(mu) if scores.dim() == 3 else torch.stack((by_fencepost(mu), by_fencepost(right_mu)), 1)
    return marginals.to(torch.promote_types(scores.dtype, torch.float32))


def _best_splits(scores: Tensor, lengths: Tensor, split_scores: Tensor | None) -> Tensor:
    """The split of each span's best tree, by width and start; the leftmost split wins a tie."""
    splits = torch.zeros(len(scores), *scores.shape[-2:], dtype=torch.int64, device=scores.device)

    def maximum(terms: Tensor) -> Tensor:
        values, split = terms.max(1)
        splits[:, terms.shape[1] + 1, : terms.shape[2]] = split + 1
        return values

    _combine_splits(scores, lengths, split_scores, maximum)
    return splits


def cky(scores: Tensor, lengths: Tensor, split_scores: Tensor | None = None) -> Tensor:
    """The best tree of every sentence; the leftmost split wins a tie."""
    splits = _best_splits(scores, lengths, split_scores)
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


@torch.no_grad()
def sample(
    scores: Tensor, lengths: Tensor, split_scores: Tensor | None, count: int, generator: torch.Generator | None
) -> Tensor:
    """`count` random trees of each sentence, (count, b, n + 1, n + 1).

    Each step splits one pending span (i, j) of every tree at k, with probability proportional to
    exp(beta(i, k) + beta(k, j)). Scores may have additional scores of right children, and splits have scores too.
    """
    batch, size = len(scores), scores.shape[-1]
    beta = by_fencepost(inside(scores, lengths, split_scores)[0])
    right_beta = beta + separate_right_scores(scores)[1]
    trees = torch.zeros(count * batch, size, size, dtype=torch.bool, device=scores.device)
    tree = torch.arange(count * batch, device=scores.device)
    sentence = tree % batch
    # a stack of pending spans per tree; single words leave it at once, so it never holds more than n spans
    starts, ends = (torch.zeros(count * batch, size, dtype=torch.int64, device=scores.device) for _ in range(2))
    ends[:, 0] = lengths[sentence]
    depth = torch.ones_like(tree)
    fence = torch.arange(size, device=scores.device)
    for _ in range(2 * size - 3):
        top = (depth - 1).clamp(min=0)
        start, end = starts[tree, top], ends[tree, top]
        is_pending = depth > 0
        trees[tree[is_pending], start[is_pending], end[is_pending]] = True
        is_split = (fence > start[:, None]) & (fence < end[:, None])
        logits = beta[sentence, start] + right_beta[sentence, :, end]
        if split_scores is not None:
            logits = logits + split_scores[sentence, start, :, end]
        is_branching = is_pending & (end - start > 1)
        weights = torch.where(is_branching[:, None], logits.where(is_split, -torch.inf), 0.0).softmax(1)
        split = torch.multinomial(weights, 1, generator=generator)[:, 0]
        # the right child replaces the span, the left child goes on top of it
        starts[tree, top] = torch.where(is_branching, split, start)
        above = (top + 1).clamp(max=size - 1)
        starts[tree, above] = torch.where(is_branching, start, starts[tree, above])
        ends[tree, above] = torch.where(is_branching, split, ends[tree, above])
        depth = depth + torch.where(is_branching, 1, -1) * is_pending
    return trees.view(count, batch, size, size)


def label_chart(
    offsets: Tensor, scores: Tensor, lengths: Tensor, is_constituent: Tensor, adds_labels: bool
) -> tuple[Tensor, Tensor]:
    """The chart (b, 2, n + 1, n + 1) of scores of labels, and their sums (b, 3, n + 1, n + 1); see `labels.py`."""
    masks = is_constituent, ~is_constituent, torch.ones_like(is_constituent)
    sums = torch.stack([scores.masked_fill(~mask, -torch.inf).logsumexp(-1) for mask in masks], 1)
    sums = sums.double().where(span_mask(lengths, scores.shape[-2])[:, None], 0.0)
    constituents, _, labels = sums.unbind(1)
    chart = torch.stack((offsets + labels if adds_labels else offsets.double(), constituents - labels), 1)
    # single words, and spans without an allowed label, have no additional score
    chart[:, 1].triu_(2).masked_fill_(labels == -torch.inf, 0.0)
    return chart, sums


def label_factors(sums: Tensor, chart: Tensor, sum_weights: Tensor | None, adds_labels: bool) -> Tensor:
    """The factors of constituents and of free labels in `label_weights`, (..., 2, n + 1, n + 1)."""
    spans, right_children = chart.unbind(-3)
    right_children = right_children.triu(2)
    labels = spans - right_children if adds_labels else -right_children
    direct = torch.stack((right_children, torch.zeros_like(right_children)), -3)
    if sum_weights is not None:
        direct, labels = direct + sum_weights[..., :2, :, :], labels + sum_weights[..., 2, :, :]
    return direct + labels[..., None, :, :] * exp_difference(sums[..., :2, :, :], sums[..., 2:, :, :])


def label_weights(
    scores: Tensor,
    sums: Tensor,
    chart: Tensor,
    sum_weights: Tensor | None,
    lengths: Tensor,
    is_constituent: Tensor,
    adds_labels: bool,
    weighs_free: bool,
) -> Tensor:
    """The gradient of the chart and of the sums with respect to the scores of labels; see `labels.py`."""
    factors = label_factors(sums, chart, sum_weights, adds_labels)
    is_used = span_mask(lengths, scores.shape[-2])[:, None] & (sums[:, :2] > -torch.inf)
    sums, factors = sums[:, :2].where(is_used, torch.inf), factors.where(is_used, 0.0)
    group = (~is_constituent).long()
    shifts, factors = (part.movedim(1, -1)[..., group].to(scores.dtype) for part in (sums, factors))
    # 0 for scores outside the sentences, which may be NaN
    return torch.where((shifts < torch.inf) & (is_constituent | weighs_free), (scores - shifts).exp() * factors, 0.0)


def exp_difference(values: Tensor, totals: Tensor) -> Tensor:
    """exp(values - totals), and 0 where totals are -inf; all derivatives are finite."""
    is_zero = totals == -torch.inf
    return (values - totals.masked_fill(is_zero, 0.0)).masked_fill(is_zero, -torch.inf).exp()
