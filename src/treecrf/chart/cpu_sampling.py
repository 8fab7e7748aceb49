"""Exact samples of trees from span scores, with NumPy."""

import numpy as np

from treecrf.arrays import Doubles, Ints, Reals
from treecrf.chart import numpy_backend


def sample_trees(scores: Reals, length: int, count: int, generator: np.random.Generator) -> Ints:
    """`count` random trees of one sentence: the chart cells of their 2n - 1 spans in ascending order, (count, 2n - 1).

    `scores` is the chart (n + 1, n + 1) of the sentence, which may be padded. A cell is start * (n + 1) + end with the
    padded n. A span (i, j) is split at k with probability proportional to exp(beta(i, k) + beta(k, j)). Spans are
    visited from wide to narrow, and all samples that have a span are split at once.
    """
    size = scores.shape[0]
    beta = numpy_backend.inside(scores[None, : length + 1, : length + 1], np.array([length]))[0][0]
    cells = np.empty((count, 2 * length - 1), np.int64)
    span_counts = np.zeros(count, np.int64)  # spans of each sample so far
    # by width, the samples that have the span at a start
    pending: list[dict[int, list[Ints]]] = [{} for _ in range(length + 1)]
    pending[length][0] = [np.arange(count)]
    for width in range(length, 0, -1):
        for start, groups in pending[width].items():
            samples = np.concatenate(groups)
            cells[samples, span_counts[samples]] = start * size + start + width
            span_counts[samples] += 1
            if width == 1:
                continue
            end = start + width
            log_weights = beta[start, start + 1 : end] + beta[start + 1 : end, end]
            weights = np.exp(log_weights - log_weights.max())[None]
            left_widths = 1 + sample_rows(weights, np.zeros(len(samples), np.int64), generator)
            for left_width in np.flatnonzero(np.bincount(left_widths)).tolist():
                group = samples[left_widths == left_width]
                pending[left_width].setdefault(start, []).append(group)
                pending[width - left_width].setdefault(start + left_width, []).append(group)
    cells.sort(axis=1)
    return cells


def sample_rows(weights: Doubles, rows: Ints, generator: np.random.Generator) -> Ints:
    """A random column of each of these rows of `weights`, with probability proportional to its weight."""
    choices = weights.shape[1]
    cumulative = weights.cumsum(axis=1)
    cumulative /= cumulative[:, -1:]
    # the rows one after the other in one ascending list, each in an interval of length 1
    thresholds = (cumulative + np.arange(len(weights))[:, None]).ravel()
    # below the end of the interval even after rounding, so that no column of weight 0 is chosen
    points = np.minimum(rows + generator.random(len(rows)), np.nextafter(rows + 1.0, 0.0))
    columns: Ints = np.searchsorted(thresholds, points, side="right") - rows * choices
    return columns
