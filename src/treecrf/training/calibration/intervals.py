"""Calibration errors with bootstrap intervals over sentences."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles
from treecrf.training.calibration.predictions import Forecasts
from treecrf.training.calibration.reliability import BINS, bin_numbers

RESAMPLES = 2000


class ErrorEstimate(NamedTuple):
    """An expected calibration error and its 95% interval."""

    error: float
    low: float
    high: float
    predictions: int


def estimate_error(
    forecasts: Forecasts, sentences: Sequence[int], *, resamples: int = RESAMPLES, seed: int = 0
) -> ErrorEstimate:
    """The expected calibration error of predictions, and the middle 95% of the errors of resampled sentences.

    `sentences` has the number of each prediction's sentence. The error of a bin is the absolute value of a sum over its
    predictions, so the sums of each sentence are enough.
    """
    if not forecasts.probabilities:
        return ErrorEstimate(0.0, 0.0, 0.0, 0)
    p, targets = np.asarray(forecasts.probabilities), np.asarray(forecasts.is_correct, float)
    numbers = np.unique(np.asarray(sentences), return_inverse=True)[1]
    sums = np.zeros((numbers.max() + 1, BINS + 1))  # the last column has the number of predictions
    np.add.at(sums, (numbers, bin_numbers(p)), p - targets)
    sums[:, -1] = np.bincount(numbers)
    generator, size = np.random.default_rng(seed), len(sums)
    errors = []
    for _ in range(resamples):
        weights = np.bincount(generator.integers(size, size=size), minlength=size).astype(float)
        errors.append(_error(weights @ sums))
    low, high = np.percentile(errors, [2.5, 97.5]).tolist()
    return ErrorEstimate(_error(sums.sum(0)), low, high, len(p))


def _error(sums: Doubles) -> float:
    return float(abs(sums[:-1]).sum() / sums[-1])


def error_of_perfect_calibration(probabilities: Sequence[float], *, samples: int = 200, seed: int = 0) -> float:
    """The mean error if every probability were right and predictions were independent.

    It is above 0, because the share of correct predictions in a bin varies by chance.
    """
    if not probabilities:
        return 0.0
    p = np.asarray(probabilities)
    generator = np.random.default_rng(seed)
    bins = bin_numbers(p)
    errors = []
    for _ in range(samples):
        is_correct = generator.random(len(p)) < p
        errors.append(abs(np.bincount(bins, p - is_correct, minlength=BINS)).sum() / len(p))
    return float(np.mean(errors))
