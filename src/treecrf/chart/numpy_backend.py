"""Inside, outside and CKY in NumPy; computes all spans of one width at a time.

With beta(i, j) the log-sum over the trees of a span, and alpha(i, j) the log-sum over everything around it:

    beta(i, j)  = s(i, j) + logsumexp_k  beta(i, k) + beta(k, j)                                  (inside)
    alpha(i, j) = logsumexp over parents p with sibling q  alpha(p) + s(p) + beta(q)              (outside)
    mu(i, j)    = exp(alpha(i, j) + beta(i, j) - log Z)

Scores are (b, n + 1, n + 1), or (b, 2, n + 1, n + 1) with additional scores of right children, which are added to the
beta of each right child. Marginals are shaped like scores: of a span anywhere, and of a span as a right child.

This is the version for machines without the compiled code. `np.logaddexp` adds the terms of a sum one after the other,
so that the results of a sentence do not depend on the rest of its batch.
"""

from collections.abc import Sequence
from heapq import nlargest
from itertools import combinations
from operator import itemgetter
from typing import Any

import numpy as np

from treecrf.arrays import Doubles, Ints, Mask, Reals


def inside(scores: Reals, lengths: Ints) -> tuple[Doubles, Doubles]:
    """beta by fencepost, and log Z of every sentence."""
    beta, right_scores = _sentence_scores(scores, lengths)
    for width in range(2, beta.shape[1]):
        starts, middles, ends = _splits(beta.shape[1], width)
        terms = beta[:, starts, middles] + (beta + right_scores)[:, middles, ends]
        beta[:, starts, ends] += np.logaddexp.reduce(terms, axis=-1, keepdims=True)
    return beta, beta[np.arange(len(beta)), 0, lengths]


def outside(scores: Reals, lengths: Ints, chart: Doubles) -> Reals:
    """The marginals, for beta by fencepost; sums over the parents of each span, from wide to narrow spans."""
    beta, sentences = chart, np.arange(len(chart))
    span_scores, right_scores = _sentence_scores(scores, lengths)
    right_beta = beta + right_scores
    alpha, right_alpha = np.full_like(beta, -np.inf), np.full_like(beta, -np.inf)
    alpha[sentences, 0, lengths] = 0.0
    for width in range(beta.shape[1] - 1, 1, -1):
        starts, middles, ends = _splits(beta.shape[1], width)
        around = np.logaddexp(alpha[:, starts, ends], right_alpha[:, starts, ends] + right_scores[:, starts, ends])
        parents = around + span_scores[:, starts, ends]
        left, right = beta[:, starts, middles], right_beta[:, middles, ends]
        alpha[:, starts, middles] = np.logaddexp(alpha[:, starts, middles], parents + right)
        right_alpha[:, middles, ends] = np.logaddexp(right_alpha[:, middles, ends], parents + left)
    log_z = beta[sentences, 0, lengths][:, None, None]
    log_z = np.where(log_z > -np.inf, log_z, np.inf)  # without an allowed tree, all marginals are zero
    right_marginals = np.exp(right_alpha + right_beta - log_z)
    marginals = np.exp(alpha + beta - log_z) + right_marginals
    charts: Reals = marginals if scores.ndim == 3 else np.stack((marginals, right_marginals), 1)
    return charts.astype(np.result_type(scores, np.float32))


def cky(scores: Reals, lengths: Ints) -> Mask:
    """The best tree of every sentence; the leftmost split wins a tie."""
    best, right_scores = _sentence_scores(scores, lengths)
    splits = np.zeros(best.shape, dtype=np.int64)
    for width in range(2, best.shape[1]):
        starts, middles, ends = _splits(best.shape[1], width)
        terms = best[:, starts, middles] + (best + right_scores)[:, middles, ends]
        splits[:, starts, ends] = starts + 1 + terms.argmax(-1, keepdims=True)
        best[:, starts, ends] += terms.max(-1, keepdims=True)
    trees = np.zeros(splits.shape, dtype=np.bool_)
    for sentence, length in enumerate(lengths.tolist()):
        pending = [(0, length)]
        while pending:
            start, end = pending.pop()
            trees[sentence, start, end] = True
            if end > start + 1:
                split = int(splits[sentence, start, end])
                pending += [(start, split), (split, end)]
    return trees


def _sentence_scores(scores: Reals, lengths: Ints) -> tuple[Doubles, Doubles]:
    """The scores of spans, with -inf outside the sentences, and the additional scores of right children, in float64."""
    fenceposts = np.arange(scores.shape[-1])
    is_span = (fenceposts[:, None] < fenceposts) & (fenceposts <= np.asarray(lengths)[:, None, None])
    span_scores, right_scores = (scores, np.zeros_like(scores)) if scores.ndim == 3 else (scores[:, 0], scores[:, 1])
    return np.where(is_span, span_scores, -np.inf).astype(np.float64), np.where(is_span, right_scores, 0.0).astype(
        np.float64
    )


def _splits(size: int, width: int) -> tuple[Ints, Ints, Ints]:
    """The starts (spans, 1), splits (spans, width - 1) and ends (spans, 1) of all spans of a width."""
    starts = np.arange(size - width)[:, None]
    return starts, starts + np.arange(1, width), starts + width


Ranked = tuple[float, Any, Any]  # the score of a tree or of a pair of trees, and its two parts


def best_trees(
    values: Doubles, lengths: Ints, k: int, is_right_choice: Mask | None, split_scores: Doubles | None
) -> tuple[Doubles, Ints]:
    """The scores (k, b) of the k best trees, and their choices (k, b, n + 1, n + 1); see `kbest.py`."""
    scores, trees = np.full((k, len(values)), -np.inf), np.full((k, *values.shape[:3]), -1)
    for sentence, length in enumerate(lengths.tolist()):
        left: dict[tuple[int, int], list[Ranked]] = {}
        right: dict[tuple[int, int], list[Ranked]] = {}
        for start, end in sorted(combinations(range(length + 1), 2), key=lambda span: span[1] - span[0]):
            splits = range(start + 1, end)
            added = [0.0] * len(splits) if split_scores is None else split_scores[sentence, start, splits, end].tolist()
            children = [(left[start, split], right[split, end]) for split in splits]
            pairs = _best_sums(children, added, k) if splits else [(0.0, None, None)]
            choices: list[Ranked] = [
                (value, choice, (start, end)) for choice, value in enumerate(values[sentence, start, end])
            ]
            right_choices = [
                choice for choice in choices if is_right_choice is None or not splits or is_right_choice[choice[1]]
            ]
            for chart, span_choices in ((left, choices), (right, right_choices)):
                ranked_choices = sorted(span_choices, key=itemgetter(0), reverse=True)
                chart[start, end] = _best_sums([(ranked_choices, pairs)], [0.0], k)
        for rank, tree in enumerate(left[0, length]):
            scores[rank, sentence], pending = tree[0], [tree]
            while pending:
                _, (_, choice, span), (_, *parts) = pending.pop()
                trees[rank, sentence][span] = choice
                pending += [part for part in parts if part]
    return scores, trees


def _best_sums(lists: Sequence[tuple[list[Ranked], list[Ranked]]], added: Sequence[float], k: int) -> list[Ranked]:
    """The k largest sums of an item of a first list and an item of the second one, both in descending order."""
    sums = [
        (one[0] + other[0] + score, one, other)
        for (first, second), score in zip(lists, added, strict=True)
        for rank, one in enumerate(first[:k])
        for other in second[: k // (rank + 1)]
    ]
    return [item for item in nlargest(k, sums, key=itemgetter(0)) if item[0] > -np.inf]
