"""Fits the calibration of whole trees by maximum likelihood."""

from collections.abc import Sequence

import numpy as np

from treecrf.parser.decoding.tree_calibration import TreeCalibration
from treecrf.training.calibration.beta import fit_logistic

_MIN_LOG_PROB, _MAX_LOG_PROB = -1e3, -1e-6  # the latter bounds log (1 - p) at about -14


def fit_tree_calibration(
    log_probs: Sequence[float], words: Sequence[int], is_correct: Sequence[bool]
) -> TreeCalibration:
    """The tree calibration under which the correctness of trees is most likely; it is always increasing.

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
