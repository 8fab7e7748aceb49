"""Calibration: whether a parser's probabilities come true, and what to do where they do not."""

from treecrf.calibration.report import KINDS, Calibration, measure
from treecrf.calibration.temperature import Temperatures, apply_temperatures, fit_temperatures

__all__ = ["KINDS", "Calibration", "Temperatures", "apply_temperatures", "fit_temperatures", "measure"]
