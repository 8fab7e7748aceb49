"""Calibration: measures how reliable a parser's probabilities are, and corrects them."""

from treecrf.training.calibration.fit import CalibrationParameters, calibrate
from treecrf.training.calibration.predictions import collect_predictions
from treecrf.training.calibration.report import KINDS, CalibrationReport, measure, summarize

__all__ = [
    "KINDS",
    "CalibrationParameters",
    "CalibrationReport",
    "calibrate",
    "collect_predictions",
    "measure",
    "summarize",
]
