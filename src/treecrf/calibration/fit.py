"""Fits the whole calibration of a parser: temperatures, the F1 threshold, and beta calibration."""

from collections.abc import Sequence
from typing import NamedTuple

from treecrf.calibration.beta import fit_beta
from treecrf.calibration.f1_threshold import f1_optimal_threshold
from treecrf.calibration.predictions import collect_predictions
from treecrf.calibration.temperature import Temperatures, apply_temperatures, fit_temperatures
from treecrf.decoding.beta_calibration import BetaCalibration
from treecrf.parser import Parser
from treecrf.tree import Tree


class CalibrationParameters(NamedTuple):
    """The parameters that `calibrate` has fitted."""

    temperatures: Temperatures
    f1_threshold: float
    beta: BetaCalibration


def calibrate(parser: Parser, trees: Sequence[Tree], *, find_threshold: bool = False) -> CalibrationParameters:
    """Calibrates a parser on development trees, which must not be its training trees.

    The parser must compute in float32: the temperatures become part of `parser.model`, and an int8 copy would not have
    them. With `find_threshold`, `parser.f1_threshold` is fitted too.
    """
    temperatures = fit_temperatures(parser, trees)
    apply_temperatures(parser.model, temperatures)
    if find_threshold:
        parser.f1_threshold = f1_optimal_threshold(parser, trees)
    parser.calibration = BetaCalibration()
    labeled = collect_predictions(parser, trees).labeled
    parser.calibration = fit_beta(labeled.probabilities, labeled.is_correct)
    return CalibrationParameters(temperatures, parser.f1_threshold, parser.calibration)
