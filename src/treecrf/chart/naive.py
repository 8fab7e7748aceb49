"""The definition of every quantity, by enumeration of all binary trees; the tests compare the backends with it.

Charts are (batch, n + 1, n + 1) by fencepost: `scores[b, i, j]` scores `words[i:j]` of sentence b. A tree is a boolean
chart with 2n - 1 spans. The number of trees grows exponentially with n.

Scores may be (batch, 2, n + 1, n + 1): the second chart has additional scores of spans that are right children. Split
scores are (batch, n + 1, n + 1, n + 1): `split_scores[b, i, k, j]` is added if `words[i:j]` is split at k.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from treecrf.chart.torch_backend import right_children, splits


def brackets(start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """The spans of each binary tree over `words[start:end]`."""
    if end == start + 1:
        yield [(start, end)]
    for split in range(start + 1, end):
        for left in brackets(start, split):
            for right in brackets(split, end):
                yield [(start, end), *left, *right]


def trees(length: int, size: int) -> Tensor:
    """All binary trees over `length` words, (trees, size, size)."""
    charts = []
    for spans in brackets(0, length):
        chart = torch.zeros(size, size, dtype=torch.bool)
        chart[tuple(zip(*spans, strict=True))] = True
        charts.append(chart)
    return torch.stack(charts)


def tree_scores(scores: Tensor, length: int, split_scores: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """All trees of one sentence and their scores, best first, without the trees that score -inf."""
    all_trees = trees(length, scores.shape[-1])
    totals = torch.where(_like_scores(all_trees, scores), scores, 0.0).flatten(1).sum(1)
    if split_scores is not None:
        totals = totals + torch.where(splits(all_trees), split_scores, 0.0).flatten(1).sum(1)
    order = totals.argsort(descending=True, stable=True)
    order = order[totals[order] > -torch.inf]
    return all_trees[order], totals[order]


def _like_scores(all_trees: Tensor, scores: Tensor) -> Tensor:
    """Trees, or trees and their right children, (trees, 2, size, size), as one sentence's scores have it."""
    return all_trees if scores.dim() == 2 else torch.stack((all_trees, right_children(all_trees)), 1)


def _by_sentence(scores: Tensor, lengths: Tensor) -> list[tuple[Tensor, Tensor]]:
    return [tree_scores(chart, length) for chart, length in zip(scores, lengths.tolist(), strict=True)]


def log_partition(scores: Tensor, lengths: Tensor) -> Tensor:
    """log Z: the log of the sum over trees of their exponentiated scores, (b,)."""
    return torch.stack([totals.logsumexp(0) for _, totals in _by_sentence(scores, lengths)])


def marginals(scores: Tensor, lengths: Tensor) -> Tensor:
    """The probability of each span: the sum over the trees that contain it, shaped like scores."""
    sentences = zip(_by_sentence(scores, lengths), scores, strict=True)
    return torch.stack(
        [
            torch.einsum("t,t...->...", totals.softmax(0), _like_scores(charts, chart).to(totals))
            for (charts, totals), chart in sentences
        ]
    )


def entropy(scores: Tensor, lengths: Tensor) -> Tensor:
    """The entropy of the distribution over trees, in nats, (b,)."""
    log_probs = [totals.log_softmax(0) for _, totals in _by_sentence(scores, lengths)]
    return torch.stack([-(values.exp() * values).sum() for values in log_probs])


def labeled_trees(length: int, size: int, labels: Sequence[int]) -> Tensor:
    """All labeled trees over `length` words, (trees, size, size): the label of each constituent, and -1 elsewhere.

    A constituent has one word or two or more children, which are constituents and words. The whole sentence and single
    words need no constituent.
    """
    charts = []
    for constituents in (*_sequences(0, length, labels), *_constituents(0, length, labels)):
        chart = torch.full((size, size), -1)
        for (start, end), label in constituents.items():
            chart[start, end] = label
        charts.append(chart)
    return torch.stack(charts)


def _constituents(start: int, end: int, labels: Sequence[int]) -> Iterator[dict[tuple[int, int], int]]:
    """The trees of words[start:end] with a constituent over all of them, by the labels of their constituents."""
    for children in _sequences(start, end, labels):
        for label in labels:
            yield {(start, end): label, **children}


def _sequences(start: int, end: int, labels: Sequence[int]) -> Iterator[dict[tuple[int, int], int]]:
    """The sequences of one word, or of two or more constituents and words, over words[start:end]."""
    if end == start + 1:
        yield {}
    for split in range(start + 1, end):  # the start of the last child
        for first in (*_sequences(start, split, labels), *_constituents(start, split, labels)):
            for last in (*([{}] if end == split + 1 else []), *_constituents(split, end, labels)):
                yield first | last
