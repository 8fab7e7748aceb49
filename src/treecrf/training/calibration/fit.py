"""Fits the whole calibration of a parser: temperatures, F1 threshold, probabilities of constituents and trees."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles
from treecrf.parser import Parser
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.evaluate import predict_trees
from treecrf.training.calibration.predictions import collect_predictions
from treecrf.training.calibration.temperature import Temperatures, apply_temperatures, fit_temperatures
from treecrf.trees.evalb import COLLINS, Rules, evaluate
from treecrf.trees.tree import Tree

_ITERATIONS = 2  # the F1 hardly depends on the threshold, so two iterations are enough
_NEWTON_STEPS = 50  # about ten are needed
_MIN_STEP = 1e-9
_RIDGE = 1e-3  # L2 penalty toward the identity, for very few predictions
_MIN_LOG_PROB, _MAX_LOG_PROB = -1e3, -1e-6  # the latter bounds log (1 - p) at about -14


class CalibrationParameters(NamedTuple):
    """The parameters that `calibrate` has fitted."""

    temperatures: Temperatures
    f1_threshold: float
    beta: BetaCalibration
    trees: TreeCalibration


def calibrate(
    parser: Parser,
    trees: Sequence[Tree],
    *,
    find_threshold: bool = False,
    keep_weights: bool = False,
    rules: Rules = COLLINS,
) -> CalibrationParameters:
    """Calibrates a parser on development trees, which must not be its training trees.

    With `find_threshold`, `parser.f1_threshold` is fitted to the F1 of `rules` too. The parser must compute in float32:
    the temperatures become part of `parser.model`, and an int8 copy would not have them. With `keep_weights`, there are
    no temperatures, and the parser may compute with any precision.
    """
    temperatures = Temperatures() if keep_weights else fit_temperatures(parser, trees)
    if not keep_weights:
        apply_temperatures(parser.model, temperatures)
    if find_threshold:
        parser.f1_threshold = f1_optimal_threshold(parser, trees, rules=rules)
    parser.calibration, parser.tree_calibration = BetaCalibration(), TreeCalibration()
    predictions = collect_predictions(parser, trees)
    parser.calibration = fit_beta(*predictions.forecasts("labeled")[:2])
    parser.tree_calibration = fit_tree_calibration(
        [tree.log_prob for tree in predictions.trees],
        [tree.words for tree in predictions.trees],
        [tree.is_correct for tree in predictions.trees],
    )
    return CalibrationParameters(temperatures, parser.f1_threshold, parser.calibration, parser.tree_calibration)


def f1_optimal_threshold(parser: Parser, trees: Sequence[Tree], *, rules: Rules = COLLINS) -> float:
    """Returns half of the F1 that the parser has on these trees at this threshold; 0 if the paper's MBR is better.

    F1 is over all sentences, with punctuation deleted by the gold tags. It is 2 * matched /
    (gold + predicted): one more constituent of probability p adds 2p to the expected numerator and 1 to the
    denominator, which raises F1 if p is above F1 / 2.
    """
    original_threshold = parser.f1_threshold
    rules = replace(rules, max_error=None)

    def f1_at(threshold: float) -> float:
        parser.f1_threshold = threshold
        return evaluate(trees, predict_trees(parser, trees), rules=rules, use_gold_tags=True).f1 / 100

    try:
        mbr_f1 = f1 = f1_at(0.0)
        for _ in range(_ITERATIONS):
            threshold = round(f1 / 2, 3)
            f1 = f1_at(threshold)
    finally:
        parser.f1_threshold = original_threshold
    return threshold if f1 > mbr_f1 else 0.0


def fit_beta(
    probabilities: Sequence[float] | Doubles,
    is_correct: Sequence[bool] | Doubles,
    *,
    start: BetaCalibration = BetaCalibration(),  # noqa: B008  # immutable
    ridge: float = _RIDGE,
) -> BetaCalibration:
    """Fits the beta calibration of constituents by maximum likelihood; it is always increasing.

    If `a` or `b` would not be positive, both are the same number. If that number would not be positive either, the
    result is `start`, to which an L2 penalty of the size `ridge` draws the parameters.
    """
    p = np.asarray(probabilities, float).clip(1e-6, 1 - 1e-6)
    targets = np.asarray(is_correct, float)
    log_p, minus_log_not_p, ones = np.log(p), -np.log1p(-p), np.ones_like(p)
    features = np.stack([log_p, minus_log_not_p, ones], 1)
    a, b, c = fit_logistic(features, targets, start=np.array(start), ridge=ridge)
    if min(a, b) > 0:
        return BetaCalibration(float(a), float(b), float(c))
    features, one_slope = np.stack([log_p + minus_log_not_p, ones], 1), np.array([(start.a + start.b) / 2, start.c])
    slope, c = fit_logistic(features, targets, start=one_slope, ridge=ridge)
    return BetaCalibration(float(slope), float(slope), float(c)) if slope > 0 else start


def fit_tree_calibration(
    log_probs: Sequence[float],
    words: Sequence[int],
    is_correct: Sequence[bool] | Doubles,
    *,
    start: TreeCalibration = TreeCalibration(),  # noqa: B008  # immutable
    ridge: float = _RIDGE,
) -> TreeCalibration:
    """Fits the calibration of whole trees by maximum likelihood; it is always increasing.

    If `a` or `b` would not be positive, it is 0. If neither would be positive, the result is `start`; see `fit_beta`.
    """
    log_p = np.clip(np.asarray(log_probs, float), _MIN_LOG_PROB, _MAX_LOG_PROB)
    features = np.stack([log_p, -np.log(-np.expm1(log_p)), np.ones_like(log_p), np.log(np.asarray(words, float))], 1)
    targets, before = np.asarray(is_correct, float), np.array(start)
    slopes = [0, 1]  # the columns of a and b
    while slopes:
        columns = [*slopes, 2, 3]
        weights = np.zeros(len(before))
        weights[columns] = fit_logistic(features[:, columns], targets, start=before[columns], ridge=ridge)
        if weights[slopes].min() > 0:
            return TreeCalibration(*weights.tolist())
        slopes.remove(min(slopes, key=weights.__getitem__))
    return start


def fit_logistic(features: Doubles, targets: Doubles, *, start: Doubles, ridge: float = _RIDGE) -> Doubles:
    """Returns the weights (features,) of a logistic regression, with an L2 penalty on their distance from `start`."""

    def loss(weights: Doubles) -> float:
        logits = features @ weights
        return float((np.logaddexp(0, logits) - targets * logits).sum() + ridge / 2 * ((weights - start) ** 2).sum())

    weights = start
    for _ in range(_NEWTON_STEPS):
        p = np.exp(-np.logaddexp(0, -(features @ weights)))
        gradient = features.T @ (p - targets) + ridge * (weights - start)
        hessian = (features * (p * (1 - p))[:, None]).T @ features + ridge * np.eye(len(start))
        step = np.linalg.solve(hessian, gradient)
        while loss(weights - step) > loss(weights) and abs(step).max() > _MIN_STEP:
            step = step / 2
        weights = weights - step
        if abs(step).max() <= _MIN_STEP:
            break
    return weights
