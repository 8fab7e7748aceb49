"""Calibration: whether a parser's probabilities come true, and what to do where they do not."""

from treecrf.calibration.adjustment import PRICES, Adjustment, calibrate
from treecrf.calibration.report import KINDS, Calibration, measure

__all__ = ["KINDS", "PRICES", "Adjustment", "Calibration", "calibrate", "measure"]
