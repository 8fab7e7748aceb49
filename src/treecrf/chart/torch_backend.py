"""The explanation: inside, outside and CKY in plain tensors, all spans of one width at a time.

For spans (i, j) of width w = j - i, with beta(i, j) the log-sum over the trees of a span:

    beta(i, j) = s(i, j) + logsumexp_k  beta(i, k) + beta(k, j)                                     (inside)
    mu(i, j)   = sum over parents p with sibling q  mu(p) exp(beta(i, j) + beta(q) + s(p) - beta(p))  (outside)

Work charts are (batch, width, position) in float64, one by a span's start and one by its end, so that both operands of
the split loop are slices. `inside` is differentiable, twice; nothing here keeps more than O(n^2) unless asked for
gradients. Spans that reach past a sentence's length are computed and never read.
"""

import torch
from torch import Tensor


def by_width(chart: Tensor) -> Tensor:
    """From (b, start, end) to (b, width, start), in float64."""
    size = chart.shape[-1]
    start, end = torch.triu_indices(size, size, 1, device=chart.device)
    rows = chart.new_zeros(chart.shape, dtype=torch.float64)
    batch = torch.arange(len(chart), device=chart.device)[:, None]
    return rows.index_put((batch, end - start, start), chart[:, start, end].double())


def by_fencepost(rows: Tensor) -> Tensor:
    """From (b, width, start) to (b, start, end), zero below the diagonal."""
    size = rows.shape[-1]
    start, end = torch.triu_indices(size, size, 1, device=rows.device)
    chart = torch.zeros_like(rows)
    chart[:, start, end] = rows[:, end - start, start]
    return chart


def within(lengths: Tensor, size: int) -> Tensor:
    """The cells that are spans of each sentence: (b, size, size)."""
    fence = torch.arange(size, device=lengths.device)
    return (fence[:, None] < fence) & (fence <= lengths[:, None, None])


def _logsumexp(terms: Tensor) -> Tensor:
    """Over dim 1; gradients stay finite where every term is -inf."""
    top = terms.detach().amax(1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0.0)
    total = (terms - top).exp().sum(1)
    nothing = total == 0
    return total.masked_fill(nothing, 1.0).log().masked_fill(nothing, -torch.inf) + top[:, 0]


def inside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """beta of every span, by width and start, and log Z of every sentence."""
    size = scores.shape[-1]
    rows = by_width(scores.where(within(lengths, size), 0.0))
    by_start, by_end = torch.full_like(rows, -torch.inf), torch.full_like(rows, -torch.inf)
    for width in range(1, size):
        beta = rows[:, width, : size - width]
        if width > 1:
            # k words to the left: spans of width k by start, those of width - k by end
            left = by_start[:, 1:width, : size - width]
            right = by_end[:, 1:width, width:].flip(1)
            beta = beta + _logsumexp(left + right)
        by_start[:, width, : size - width] = beta
        by_end[:, width, width:] = beta
    sentence = torch.arange(len(scores), device=scores.device)
    return by_start, by_start[sentence, lengths, 0]


def outside(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """The marginal of every span, as a gather over its parents, widest spans first."""
    size = scores.shape[-1]
    by_start = chart
    by_end, above_start, above_end = (torch.full_like(chart, -torch.inf) for _ in range(3))
    for width in range(1, size):
        by_end[:, width, width:] = by_start[:, width, : size - width]
    rows = by_width(scores)
    mu = torch.zeros_like(chart)
    for width in range(size - 1, 0, -1):
        beta = by_start[:, width, : size - width]
        # siblings of width k to the right, under a parent with our start; and to the left, with our end
        right = above_start[:, width + 1 :, : size - width] + by_start[:, 1 : size - width, width:]
        left = above_end[:, width + 1 :, width:] + by_end[:, 1 : size - width, : size - width]
        row = (right + beta[:, None]).exp().sum(1) + (left + beta[:, None]).exp().sum(1)
        row[:, 0].masked_fill_((lengths == width) & (beta[:, 0] > -torch.inf), 1.0)
        mu[:, width, : size - width] = row
        above = torch.where(row > 0, row.log() - (beta - rows[:, width, : size - width]), -torch.inf)
        above_start[:, width, : size - width] = above
        above_end[:, width, width:] = above
    return by_fencepost(mu).to(_result_dtype(scores))


def inside_outside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inside chart, log Z and marginals."""
    chart, log_z = inside(scores, lengths)
    return chart, log_z, outside(scores, lengths, chart)


def _viterbi(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The score of each span's best tree and its split, by width and start; the leftmost split wins a tie."""
    size = scores.shape[-1]
    rows = by_width(scores.where(within(lengths, size), 0.0))
    by_start, by_end = torch.full_like(rows, -torch.inf), torch.full_like(rows, -torch.inf)
    splits = torch.zeros(rows.shape, dtype=torch.int64, device=rows.device)
    for width in range(1, size):
        best = rows[:, width, : size - width]
        if width > 1:
            terms = by_start[:, 1:width, : size - width] + by_end[:, 1:width, width:].flip(1)
            top, split = terms.max(1)
            best = best + top
            splits[:, width, : size - width] = split + 1
        by_start[:, width, : size - width] = best
        by_end[:, width, width:] = best
    return by_start, splits


def best(scores: Tensor, lengths: Tensor) -> Tensor:
    """The score of each span's best tree, by width and start."""
    return _viterbi(scores, lengths)[0]


def cky(scores: Tensor, lengths: Tensor) -> Tensor:
    """The best tree of every sentence, by back-pointers."""
    return _trace(_viterbi(scores, lengths)[1], lengths)


def _trace(splits: Tensor, lengths: Tensor) -> Tensor:
    """Mark the spans that back-pointers reach from the root."""
    batch, size, _ = splits.shape
    marks = torch.zeros_like(splits, dtype=torch.bool)
    marks[torch.arange(batch, device=splits.device), lengths, 0] = True
    flat = marks.view(batch, -1)
    for width in range(size - 1, 1, -1):
        marked = marks[:, width, : size - width]
        split = splits[:, width, : size - width]
        start = torch.arange(size - width, device=splits.device)
        # spans without a mark point at width 0, which no span has
        left = torch.where(marked, split * size + start, 0)
        right = torch.where(marked, (width - split) * size + start + split, 0)
        flat.scatter_(1, left, True)
        flat.scatter_(1, right, True)
    marks[:, 0] = False
    return by_fencepost(marks)


def _result_dtype(scores: Tensor) -> torch.dtype:
    return torch.promote_types(scores.dtype, torch.float32)
