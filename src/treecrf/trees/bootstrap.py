"""Bootstrap over sentences: totals of resampled sentences, and intervals of their statistics."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 20  # multiplicities of sentences in memory at once


class Interval(NamedTuple):
    """A 95% interval."""

    low: float
    high: float


def resampled_totals(
    counts: NDArray[np.float64], resamples: int, *, seed: int, multinomial: bool = False
) -> NDArray[np.float64]:
    """Sums counts (sentences, columns) over sentences drawn with replacement; returns totals (resamples, columns).

    With `multinomial`, the number of times that each sentence is drawn is one draw itself, which is faster for long
    texts. The distribution is the same, but not the random numbers.
    """
    size = len(counts)
    generator = np.random.default_rng(seed)
    totals = np.zeros((resamples, counts.shape[1]))
    if multinomial and size:
        block = max(1, _BLOCK // size)
        for first in range(0, resamples, block):
            rows = min(block, resamples - first)
            totals[first : first + rows] = generator.multinomial(size, np.full(size, 1 / size), size=rows) @ counts
    elif size:
        for number in range(resamples):
            totals[number] = np.bincount(generator.integers(size, size=size), minlength=size) @ counts
    return totals


def percentile_interval(values: NDArray[np.float64]) -> Interval:
    """Returns the middle 95% of values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return Interval(float(low), float(high))
