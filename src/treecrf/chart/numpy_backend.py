"""Inside, outside and CKY in NumPy; computes all spans of one width at a time.

With beta(i, j) the log-sum over the trees of a span, and alpha(i, j) the log-sum over everything around it:

    beta(i, j)  = s(i, j) + logsumexp_k  beta(i, k) + beta(k, j)                                  (inside)
    alpha(i, j) = logsumexp over parents p with sibling q  alpha(p) + s(p) + beta(q)              (outside)
    mu(i, j)    = exp(alpha(i, j) + beta(i, j) - log Z)

This is the version for machines without the compiled code. `np.logaddexp` adds the terms of a sum one after the other,
so that the results of a sentence do not depend on the rest of its batch.
"""

import numpy as np

from treecrf.arrays import Doubles, Ints, Mask, Reals


def inside(scores: Reals, lengths: Ints) -> tuple[Doubles, Doubles]:
    """beta by fencepost, and log Z of every sentence."""
    beta = _sentence_scores(scores, lengths)
    for width in range(2, beta.shape[1]):
        starts, middles, ends = _splits(beta.shape[1], width)
        terms = beta[:, starts, middles] + beta[:, middles, ends]
        beta[:, starts, ends] += np.logaddexp.reduce(terms, axis=-1, keepdims=True)
    return beta, beta[np.arange(len(beta)), 0, lengths]


def outside(scores: Reals, lengths: Ints, chart: Doubles) -> Reals:
    """The marginal of every span, for beta by fencepost; a sum over its parents, from wide to narrow spans."""
    beta, sentences = chart, np.arange(len(chart))
    span_scores = _sentence_scores(scores, lengths)
    alpha = np.full_like(beta, -np.inf)
    alpha[sentences, 0, lengths] = 0.0
    for width in range(beta.shape[1] - 1, 1, -1):
        starts, middles, ends = _splits(beta.shape[1], width)
        parents = alpha[:, starts, ends] + span_scores[:, starts, ends]
        left, right = beta[:, starts, middles], beta[:, middles, ends]
        alpha[:, starts, middles] = np.logaddexp(alpha[:, starts, middles], parents + right)
        alpha[:, middles, ends] = np.logaddexp(alpha[:, middles, ends], parents + left)
    log_z = beta[sentences, 0, lengths][:, None, None]
    is_feasible = log_z > -np.inf
    log_marginals = np.where(is_feasible, alpha + beta, -np.inf) - np.where(is_feasible, log_z, 0.0)
    marginals: Reals = np.exp(log_marginals).astype(np.result_type(scores, np.float32))
    return marginals


def best_scores(scores: Reals, lengths: Ints) -> tuple[Doubles, Ints]:
    """The score and the split of each span's best tree; the leftmost split wins a tie."""
    best = _sentence_scores(scores, lengths)
    splits = np.zeros(best.shape, dtype=np.int64)
    for width in range(2, best.shape[1]):
        starts, middles, ends = _splits(best.shape[1], width)
        terms = best[:, starts, middles] + best[:, middles, ends]
        splits[:, starts, ends] = starts + 1 + terms.argmax(-1, keepdims=True)
        best[:, starts, ends] += terms.max(-1, keepdims=True)
    return best, splits


def cky(scores: Reals, lengths: Ints) -> Mask:
    """The best tree of every sentence; the leftmost split wins a tie."""
    _, splits = best_scores(scores, lengths)
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


def _sentence_scores(scores: Reals, lengths: Ints) -> Doubles:
    """The scores in float64, with -inf outside the sentences."""
    fenceposts = np.arange(scores.shape[1])
    is_span = (fenceposts[:, None] < fenceposts) & (fenceposts <= np.asarray(lengths)[:, None, None])
    return np.where(is_span, scores, -np.inf).astype(np.float64)


def _splits(size: int, width: int) -> tuple[Ints, Ints, Ints]:
    """The starts (spans, 1), splits (spans, width - 1) and ends (spans, 1) of all spans of a width."""
    starts = np.arange(size - width)[:, None]
    return starts, starts + np.arange(1, width), starts + width
