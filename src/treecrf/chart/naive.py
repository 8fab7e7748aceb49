"""The definition: every binary tree, enumerated.

Charts are (batch, n + 1, n + 1) by fencepost: `scores[b, i, j]` scores `words[i:j]` of sentence b. A tree is a boolean
chart with its 2n-1 spans. Exponential; what the fast rooms are tested against.
"""

from collections.abc import Iterator

import torch
from torch import Tensor


def brackets(start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """The spans of each binary tree over `words[start:end]`."""
    if end == start + 1:
        yield [(start, end)]
    for split in range(start + 1, end):
        for left in brackets(start, split):
            for right in brackets(split, end):
                yield [(start, end), *left, *right]


def trees(length: int, size: int) -> Tensor:
    """Every binary tree over `length` words: (trees, size, size)."""
    charts = []
    for spans in brackets(0, length):
        chart = torch.zeros(size, size, dtype=torch.bool)
        chart[tuple(zip(*spans, strict=True))] = True
        charts.append(chart)
    return torch.stack(charts)


def tree_scores(scores: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Every tree of one sentence and its score, best first; trees with a score of -inf are left out."""
    every = trees(length, scores.shape[-1])
    totals = torch.where(every, scores, 0.0).sum((-1, -2))
    order = totals.argsort(descending=True, stable=True)
    order = order[totals[order] > -torch.inf]
    return every[order], totals[order]


def log_partition(scores: Tensor, lengths: Tensor) -> Tensor:
    """The logarithm of the sum over trees of their exponentiated scores."""
    return torch.stack([tree_scores(s, n)[1].logsumexp(0) for s, n in zip(scores, lengths.tolist(), strict=True)])


def marginals(scores: Tensor, lengths: Tensor) -> Tensor:
    """The probability of each span: that of all trees that hold it."""
    charts = []
    for chart, length in zip(scores, lengths.tolist(), strict=True):
        every, totals = tree_scores(chart, length)
        charts.append(torch.einsum("t,tij->ij", totals.softmax(0), every.to(totals)))
    return torch.stack(charts)


def entropy(scores: Tensor, lengths: Tensor) -> Tensor:
    """The expected surprise over trees."""
    entropies = []
    for chart, length in zip(scores, lengths.tolist(), strict=True):
        log_probs = tree_scores(chart, length)[1].log_softmax(0)
        entropies.append(-(log_probs.exp() * log_probs).sum())
    return torch.stack(entropies)
