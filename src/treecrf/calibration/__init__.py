"""Calibration: whether a parser's probabilities come true, and what to do where they do not."""

from treecrf.calibration.fit import Adjustment, calibrate
from treecrf.calibration.report import KINDS, Calibration, measure

__all__ = ["KINDS", "Adjustment", "Calibration", "calibrate", "measure"]
