"""Calibration: measures how reliable a parser's probabilities are, and corrects them."""

from treecrf.calibration.fit import CalibrationParameters, calibrate
from treecrf.calibration.report import KINDS, CalibrationReport, measure

__all__ = ["KINDS", "CalibrationParameters", "CalibrationReport", "calibrate", "measure"]
