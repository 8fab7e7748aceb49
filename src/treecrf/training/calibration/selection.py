"""Selective prediction at a precision: thresholds are chosen on development trees, and their coverage is measured."""

import math
from typing import NamedTuple

import numpy as np

from treecrf.training.calibration.predictions import Forecasts, Predictions

KINDS = ("labeled", "sentences", "trees")  # kinds of units that are kept or left out


class Selection(NamedTuple):
    """The units whose confidence is at least a threshold."""

    coverage: float  # share of the units
    precision: float  # share of correct predictions in these units; 1 if there are none


def select(units: Forecasts, threshold: float) -> Selection:
    """Selects the units whose confidence is at least `threshold`."""
    is_kept = units.confidences >= threshold
    predictions = float(units.predictions[is_kept].sum())
    precision = float(units.correct[is_kept].sum()) / predictions if predictions else 1.0
    return Selection(float(is_kept.mean()) if len(is_kept) else 0.0, precision)


def precision_threshold(units: Forecasts, precision: float) -> float:
    """Returns the lowest confidence at which the units above it have this precision; infinity if there is none."""
    order = np.argsort(-units.confidences, kind="stable")
    confidences = units.confidences[order]
    is_last = np.append(confidences[1:] < confidences[:-1], True)[: len(order)]  # among units of equal confidence
    predictions = units.predictions[order].cumsum()
    precisions = np.where(predictions > 0, units.correct[order].cumsum() / predictions.clip(min=1), 1.0)
    places = np.flatnonzero(is_last & (precisions >= precision))
    return float(confidences[places[-1]]) if len(places) else math.inf


def dev_thresholds(predictions: Predictions, precision: float) -> dict[str, float]:
    """Chooses the threshold of each kind of selection on the predictions for development trees."""
    return {kind: precision_threshold(predictions.forecasts(kind), precision) for kind in KINDS}
