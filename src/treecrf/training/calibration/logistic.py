"""Logistic regression with Newton's method, and the calibrations of constituents and trees that it fits."""

from collections.abc import Sequence

import numpy as np

from treecrf.arrays import Doubles
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration

_STEPS = 50  # Newton's method needs about ten
_MIN_STEP = 1e-9
_RIDGE = 1e-3  # L2 penalty toward the identity, for very few predictions
_MIN_LOG_PROB, _MAX_LOG_PROB = -1e3, -1e-6  # the latter bounds log (1 - p) at about -14


def fit_beta(probabilities: Sequence[float] | Doubles, is_correct: Sequence[bool] | Doubles) -> BetaCalibration:
    """Fits the beta calibration of constituents by maximum likelihood; it is always increasing.

    If `a` or `b` would not be positive, both are the same number. If that number would not be positive either, the
    result is the identity.
    """
    p = np.asarray(probabilities, float).clip(1e-6, 1 - 1e-6)
    targets = np.asarray(is_correct, float)
    log_p, minus_log_not_p, ones = np.log(p), -np.log1p(-p), np.ones_like(p)
    a, b, c = fit_logistic(np.stack([log_p, minus_log_not_p, ones], 1), targets, start=np.array([1.0, 1.0, 0.0]))
    if min(a, b) > 0:
        return BetaCalibration(float(a), float(b), float(c))
    slope, c = fit_logistic(np.stack([log_p + minus_log_not_p, ones], 1), targets, start=np.array([1.0, 0.0]))
    return BetaCalibration(float(slope), float(slope), float(c)) if slope > 0 else BetaCalibration()


def fit_tree_calibration(
    log_probs: Sequence[float], words: Sequence[int], is_correct: Sequence[bool] | Doubles
) -> TreeCalibration:
    """Fits the calibration of whole trees by maximum likelihood; it is always increasing.

    If `a` or `b` would not be positive, it is 0. If neither would be positive, the result is the identity.
    """
    log_p = np.clip(np.asarray(log_probs, float), _MIN_LOG_PROB, _MAX_LOG_PROB)
    features = np.stack([log_p, -np.log(-np.expm1(log_p)), np.ones_like(log_p), np.log(np.asarray(words, float))], 1)
    targets, identity = np.asarray(is_correct, float), np.array(TreeCalibration())
    slopes = [0, 1]  # the columns of a and b
    while slopes:
        columns = [*slopes, 2, 3]
        weights = np.zeros(len(identity))
        weights[columns] = fit_logistic(features[:, columns], targets, start=identity[columns])
        if weights[slopes].min() > 0:
            return TreeCalibration(*weights.tolist())
        slopes.remove(min(slopes, key=weights.__getitem__))
    return TreeCalibration()


def fit_logistic(features: Doubles, targets: Doubles, *, start: Doubles) -> Doubles:
    """Returns the weights (features,) of a logistic regression, with an L2 penalty on their distance from `start`."""

    def loss(weights: Doubles) -> float:
        logits = features @ weights
        return float((np.logaddexp(0, logits) - targets * logits).sum() + _RIDGE / 2 * ((weights - start) ** 2).sum())

    weights = start
    for _ in range(_STEPS):
        p = np.exp(-np.logaddexp(0, -(features @ weights)))
        gradient = features.T @ (p - targets) + _RIDGE * (weights - start)
        hessian = (features * (p * (1 - p))[:, None]).T @ features + _RIDGE * np.eye(len(start))
        step = np.linalg.solve(hessian, gradient)
        while loss(weights - step) > loss(weights) and abs(step).max() > _MIN_STEP:
            step = step / 2
        weights = weights - step
        if abs(step).max() <= _MIN_STEP:
            break
    return weights
