"""Calibration step by step: temperatures for the scores, a price of constituents, a curve for what is said of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecrf.calibration.evidence import gather
from treecrf.calibration.reliability import Numbers
from treecrf.calibration.temperature import Temperatures, apply_temperatures, fit_temperatures
from treecrf.certainty import Curve
from treecrf.evalb import COLLINS, evaluate
from treecrf.parser import Parser
from treecrf.tree import Tree

PRICES = (0.0, 0.3, 0.35, 0.4, 0.45, 0.5)  # half of the F of parsers that are worth having is among them

_STEPS = 50  # of Newton's method, which needs about ten
_CLOSE = 1e-9
_ABOUT = 0.05  # points of F
_RULES = replace(COLLINS, max_error=None)
_RIDGE = 1e-3  # holds the curve where there are too few constituents to tell


class Adjustment(NamedTuple):
    """What was done to a parser."""

    temperatures: Temperatures
    price: float
    curve: Curve


def calibrate(parser: Parser, trees: Sequence[Tree], *, prices: Sequence[float] = ()) -> Adjustment:
    """Make a parser's probabilities come true on these trees, which it must not have been trained on.

    Of `prices`, if there are any, its constituents get the one with which it parses these trees best.
    """
    temperatures = fit_temperatures(parser, trees)
    apply_temperatures(parser.model, temperatures)
    if prices:
        parser.price = best_price(parser, trees, prices)
    parser.certainty = Curve()
    points = gather(parser, trees).labelled
    parser.certainty = fit_curve(points.probabilities, points.right)
    return Adjustment(temperatures, parser.price, parser.certainty)


def best_price(parser: Parser, trees: Sequence[Tree], prices: Sequence[float]) -> float:
    """The lowest price with which a parser's trees have about the best F: a higher one leaves more out."""
    words = [tree.words for tree in trees]
    tags = None if parser.model.config.tag_head else [tree.tags for tree in trees]
    before = parser.price

    def score(price: float) -> float:
        parser.price = price
        return evaluate(trees, parser.parse_many(words, tags=tags), rules=_RULES).f1

    try:
        scores = {price: score(price) for price in prices}
    finally:
        parser.price = before
    return min(price for price, found in scores.items() if found >= max(scores.values()) - _ABOUT)


def fit_curve(probabilities: Sequence[float], right: Sequence[bool]) -> Curve:
    """The curve at which predictions are most likely as right and wrong as they are."""
    said = np.asarray(probabilities, float).clip(1e-6, 1 - 1e-6)
    true = np.asarray(right, float)
    inputs = np.stack([np.log(said / (1 - said)), np.ones_like(said)], 1)
    start = np.array([1.0, 0.0])

    def loss(weights: Numbers) -> float:
        odds = inputs @ weights
        return float((np.logaddexp(0, odds) - true * odds).sum() + _RIDGE / 2 * ((weights - start) ** 2).sum())

    weights = start
    for _ in range(_STEPS):
        found = np.exp(-np.logaddexp(0, -(inputs @ weights)))
        slope = inputs.T @ (found - true) + _RIDGE * (weights - start)
        bend = (inputs * (found * (1 - found))[:, None]).T @ inputs + _RIDGE * np.eye(2)
        step = np.linalg.solve(bend, slope)
        while loss(weights - step) > loss(weights) and abs(step).max() > _CLOSE:
            step = step / 2
        weights = weights - step
    if weights[0] <= 0:
        return Curve()  # of predictions that say nothing: the order of probabilities is kept in any case
    return Curve(float(weights[0]), float(weights[1]))
