"""Selective prediction at a precision: thresholds are chosen on development trees, and their coverage is measured."""

import math
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles
from treecrf.training.calibration.predictions import Predictions


class Candidates(NamedTuple):
    """Units that can be kept or left out: constituents or sentences."""

    confidences: Doubles  # (units,)
    correct: Doubles  # (units,): correct predictions of each unit
    predictions: Doubles  # (units,)


class Selection(NamedTuple):
    """The units whose confidence is at least a threshold."""

    coverage: float  # share of the units
    precision: float  # share of correct predictions in these units; 1 if there are none


def candidates(predictions: Predictions) -> dict[str, Candidates]:
    """The units of three kinds of selection.

    "constituents": constituents by their probability. "sentences": sentences by the mean probability of their
    constituents, whose precision counts. "trees": sentences by the probability of their tree, which counts as one
    prediction.
    """
    ones = np.ones(len(predictions.counts))
    probabilities = np.asarray(predictions.labeled.probabilities, float)
    _, predicted, matched = np.asarray(predictions.counts, float).reshape(-1, 3).T
    return {
        "constituents": Candidates(
            probabilities, np.asarray(predictions.labeled.is_correct, float), np.ones_like(probabilities)
        ),
        "sentences": Candidates(mean_probabilities(predictions), matched, predicted),
        "trees": Candidates(
            np.asarray(predictions.trees.probabilities, float), np.asarray(predictions.trees.is_correct, float), ones
        ),
    }


def mean_probabilities(predictions: Predictions) -> Doubles:
    """The mean probability of each sentence's predicted constituents; 1 if it has none."""
    sizes = np.asarray([predicted for _, predicted, _ in predictions.counts], int)
    sentences = np.repeat(np.arange(len(sizes)), sizes)
    sums = np.bincount(sentences, predictions.labeled.probabilities, minlength=len(sizes))
    means: Doubles = np.where(sizes > 0, sums / np.maximum(sizes, 1), 1.0)
    return means


def precision_threshold(units: Candidates, precision: float) -> float:
    """The lowest confidence at which the units above it have this precision; infinity if no confidence has it."""
    order = np.argsort(-units.confidences, kind="stable")
    confidences = units.confidences[order]
    is_last = np.append(confidences[1:] < confidences[:-1], True)[: len(order)]  # of the units of equal confidence
    predictions = units.predictions[order].cumsum()
    precisions = np.where(predictions > 0, units.correct[order].cumsum() / predictions.clip(min=1), 1.0)
    places = np.flatnonzero(is_last & (precisions >= precision))
    return float(confidences[places[-1]]) if len(places) else math.inf


def select(units: Candidates, threshold: float) -> Selection:
    """What a threshold keeps of these units."""
    is_kept = units.confidences >= threshold
    predictions = float(units.predictions[is_kept].sum())
    precision = float(units.correct[is_kept].sum()) / predictions if predictions else 1.0
    return Selection(float(is_kept.mean()) if len(is_kept) else 0.0, precision)


def dev_thresholds(predictions: Predictions, precision: float) -> dict[str, float]:
    """The threshold of each kind of selection, chosen on the predictions for development trees."""
    return {kind: precision_threshold(units, precision) for kind, units in candidates(predictions).items()}
