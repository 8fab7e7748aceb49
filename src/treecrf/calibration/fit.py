"""Calibration step by step: temperatures for the scores, a price of constituents, a curve for what is said of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecrf.calibration.predictions import gather
from treecrf.calibration.reliability import Numbers
from treecrf.calibration.temperature import Temperatures, apply_temperatures, fit_temperatures
from treecrf.decoding.beta_calibration import BetaCalibration
from treecrf.evalb import COLLINS, evaluate
from treecrf.parser import Parser
from treecrf.tree import Tree

_ROUNDS = 2  # in which a price settles, as F hardly depends on it
_STEPS = 50  # of Newton's method, which needs about ten
_CLOSE = 1e-9
_RULES = replace(COLLINS, max_error=None)
_RIDGE = 1e-3  # holds the curve where there are too few constituents to tell


class Adjustment(NamedTuple):
    """What was done to a parser."""

    temperatures: Temperatures
    price: float
    curve: BetaCalibration


def calibrate(parser: Parser, trees: Sequence[Tree], *, find_threshold: bool = False) -> Adjustment:
    """Make a parser's probabilities come true on these trees, which it must not have been trained on.

    With `find_threshold`, its constituents also get the price that is fair on these trees.
    """
    temperatures = fit_temperatures(parser, trees)
    apply_temperatures(parser.model, temperatures)
    if find_threshold:
        parser.f1_threshold = f1_optimal_threshold(parser, trees)
    parser.calibration = BetaCalibration()
    points = gather(parser, trees).labelled
    parser.calibration = fit_beta(points.probabilities, points.right)
    return Adjustment(temperatures, parser.f1_threshold, parser.calibration)


def f1_optimal_threshold(parser: Parser, trees: Sequence[Tree]) -> float:
    """Half of the F that a parser has on trees at this very price, where F is best; 0 if it has more without one.

    F is twice the share that constituents matched have in those of gold and parse together. One more of probability p
    lifts it if 2p, matched on average, is more than F times the one that it adds: if p is above half of F.
    """
    words = [tree.words for tree in trees]
    tags = None if parser.model.config.tag_head else [tree.tags for tree in trees]
    before = parser.f1_threshold

    def score(price: float) -> float:
        parser.f1_threshold = price
        return evaluate(trees, parser.parse_many(words, tags=tags), rules=_RULES).f1 / 100

    try:
        without = with_price = score(0.0)
        for _ in range(_ROUNDS):
            price = round(with_price / 2, 3)
            with_price = score(price)
    finally:
        parser.f1_threshold = before
    return price if with_price > without else 0.0


def fit_beta(probabilities: Sequence[float], right: Sequence[bool]) -> BetaCalibration:
    """The curve at which predictions are most likely as right and wrong as they are; it keeps their order."""
    said = np.asarray(probabilities, float).clip(1e-6, 1 - 1e-6)
    true = np.asarray(right, float)
    pro, con, always = np.log(said), -np.log1p(-said), np.ones_like(said)
    weights = _fit(np.stack([pro, con, always], 1), true, start=np.array([1.0, 1.0, 0.0]))
    if weights[:2].min() > 0:
        return BetaCalibration(*map(float, weights))
    slope, offset = _fit(np.stack([pro + con, always], 1), true, start=np.array([1.0, 0.0]))
    return BetaCalibration(float(slope), float(slope), float(offset)) if slope > 0 else BetaCalibration()


def _fit(inputs: Numbers, true: Numbers, *, start: Numbers) -> Numbers:
    """The weights of inputs in the log-odds at which what is true is the most likely."""

    def loss(weights: Numbers) -> float:
        odds = inputs @ weights
        return float((np.logaddexp(0, odds) - true * odds).sum() + _RIDGE / 2 * ((weights - start) ** 2).sum())

    weights = start
    for _ in range(_STEPS):
        found = np.exp(-np.logaddexp(0, -(inputs @ weights)))
        slope = inputs.T @ (found - true) + _RIDGE * (weights - start)
        bend = (inputs * (found * (1 - found))[:, None]).T @ inputs + _RIDGE * np.eye(len(start))
        step = np.linalg.solve(bend, slope)
        while loss(weights - step) > loss(weights) and abs(step).max() > _CLOSE:
            step = step / 2
        weights = weights - step
    return weights
