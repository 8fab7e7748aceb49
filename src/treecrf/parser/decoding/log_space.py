"""Sums of exponentials in log space, in float64; a row's result does not depend on other rows."""

import numpy as np

from treecrf.arrays import Doubles, Reals


def logsumexp(values: Reals) -> Doubles:
    """The log of the sum of exponentials over the last axis; -inf if all values are -inf."""
    doubles = np.ascontiguousarray(values, dtype=np.float64)
    maxima = doubles.max(-1)
    finite_maxima = np.where(maxima == -np.inf, 0.0, maxima)
    with np.errstate(divide="ignore"):  # log 0 is -inf
        log_sums: Doubles = np.log(np.exp(doubles - finite_maxima[..., None]).sum(-1))
    return log_sums + finite_maxima


def log_softmax(values: Reals) -> Doubles:
    """The log-probabilities over the last axis; all -inf if all values are -inf."""
    log_sums = logsumexp(values)
    log_probs: Doubles = values.astype(np.float64) - np.where(log_sums == -np.inf, 0.0, log_sums)[..., None]
    return log_probs
