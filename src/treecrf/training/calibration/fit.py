"""Fits the whole calibration of a parser: temperatures, F1 threshold, probabilities of constituents and trees."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from treecrf.parser import Parser
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.evaluate import evaluation_tags
from treecrf.training.calibration.logistic import fit_beta, fit_tree_calibration
from treecrf.training.calibration.predictions import collect_predictions
from treecrf.training.calibration.temperature import Temperatures, apply_temperatures, fit_temperatures
from treecrf.trees.evalb import COLLINS, Rules, evaluate
from treecrf.trees.tree import Tree

_ITERATIONS = 2  # the F1 hardly depends on the threshold, so two iterations are enough


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
    words = [tree.words for tree in trees]
    tags = evaluation_tags(parser, trees)
    original_threshold = parser.f1_threshold
    rules = replace(rules, max_error=None)

    def f1_at(threshold: float) -> float:
        parser.f1_threshold = threshold
        return evaluate(trees, parser.parse_many(words, tags=tags), rules=rules, use_gold_tags=True).f1 / 100

    try:
        mbr_f1 = f1 = f1_at(0.0)
        for _ in range(_ITERATIONS):
            threshold = round(f1 / 2, 3)
            f1 = f1_at(threshold)
    finally:
        parser.f1_threshold = original_threshold
    return threshold if f1 > mbr_f1 else 0.0
