"""The expected number of a pattern's matches under a distribution over trees."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_NORMAL_QUANTILE = 1.959964  # the 97.5 % quantile


@dataclass(frozen=True)
class ExpectedCount:
    """The expected number of matches, estimated from sampled trees.

    `mean_low` and `mean_high` are a 95 % confidence interval of the mean: they tell how precise the estimate is, and
    get closer with more samples. `low` and `high` contain the counts of the middle 95 % of the samples: they tell how
    sure the parser is. `probabilities` has the share of samples with each count.
    """

    mean: float
    mean_low: float
    mean_high: float
    low: int
    high: int
    probabilities: dict[int, float]
    samples: int

    @classmethod
    def of(cls, counts: npt.NDArray[np.integer]) -> "ExpectedCount":
        """The expected count of samples with these numbers of matches.

        >>> count = ExpectedCount.of(np.array([1, 1, 0, 1]))
        >>> count.mean, count.probabilities
        (0.75, {0: 0.25, 1: 0.75})
        """
        samples = len(counts)
        mean = float(counts.mean())
        # two more samples, one match away from the mean, so that samples that agree do not give an empty interval
        variance = (float(((counts - mean) ** 2).sum()) + 2) / (samples + 2)
        error = _NORMAL_QUANTILE * math.sqrt(variance / samples)
        low, high = np.quantile(counts, [0.025, 0.975], method="inverted_cdf").tolist()
        values, sizes = np.unique(counts, return_counts=True)
        probabilities = dict(zip(values.tolist(), (sizes / samples).tolist(), strict=True))
        return cls(mean, max(0.0, mean - error), mean + error, int(low), int(high), probabilities, samples)
