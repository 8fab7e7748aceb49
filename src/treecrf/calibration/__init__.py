"""Calibration: measures how reliable a parser's probabilities are, and corrects them."""

from treecrf.calibration.fit import CalibrationParameters, calibrate
from treecrf.calibration.predictions import collect_predictions
from treecrf.calibration.report import KINDS, CalibrationReport, measure, summarize

__all__ = [
    "KINDS",
    "CalibrationParameters",
    "CalibrationReport",
    "calibrate",
    "collect_predictions",
    "measure",
    "summarize",
]
