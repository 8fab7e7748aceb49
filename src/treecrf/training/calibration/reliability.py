"""Reliability of probabilities: calibration error with its interval, log loss, and selective prediction."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints
from treecrf.training.calibration.predictions import Forecasts, PredictedTree, Predictions
from treecrf.trees.bootstrap import percentile_interval, resampled_totals

SELECTION_KINDS = ("labeled", "sentences", "trees")  # kinds of units that are kept or left out
BINS = 15
_RESAMPLES = 2000
_CHANCE_SAMPLES = 200
_CLIP = 1e-6  # bounds the log loss of one prediction at about 14


class Bin(NamedTuple):
    """Predictions whose probabilities lie between `low` and `high`."""

    low: float
    high: float
    predictions: int
    confidence: float  # mean probability
    accuracy: float  # share of correct predictions


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """The reliability of predictions."""

    bins: tuple[Bin, ...]  # without empty ones
    predictions: int
    confidence: float  # mean probability
    accuracy: float  # share of correct predictions
    error: float  # expected calibration error: mean of |confidence - accuracy| of the bins, weighted by predictions
    log_loss: float  # in nats


def reliability(
    probabilities: Sequence[float] | Doubles, is_correct: Sequence[bool] | Doubles, *, bins: int = BINS
) -> Reliability:
    """Measures the reliability of predictions in bins of equal width.

    >>> result = reliability([0.9, 0.9, 0.9, 0.9, 0.2], [True, True, True, False, False], bins=10)
    >>> round(result.error, 3)  # (4 * |0.9 - 0.75| + |0.2 - 0|) / 5
    0.16
    """
    p, targets = np.asarray(probabilities, float), np.asarray(is_correct, float)
    if p.shape != targets.shape:
        raise ValueError(f"{len(p)} probabilities for {len(targets)} predictions; expected one for each")
    if not len(p):
        return Reliability(bins=(), predictions=0, confidence=0.0, accuracy=0.0, error=0.0, log_loss=0.0)
    numbers = _bin_numbers(p, bins)
    filled = []
    for number in range(bins):
        members = numbers == number
        if members.any():
            confidence, accuracy = float(p[members].mean()), float(targets[members].mean())
            filled.append(Bin(number / bins, (number + 1) / bins, int(members.sum()), confidence, accuracy))
    return Reliability(
        bins=tuple(filled),
        predictions=len(p),
        confidence=float(p.mean()),
        accuracy=float(targets.mean()),
        error=sum(bin_.predictions * abs(bin_.confidence - bin_.accuracy) for bin_ in filled) / len(p),
        log_loss=float(log_losses(p, targets).mean()),
    )


def _bin_numbers(probabilities: Doubles, bins: int = BINS) -> Ints:
    return np.minimum((probabilities * bins).astype(np.int64), bins - 1)


def log_losses(probabilities: Doubles, targets: Doubles) -> Doubles:
    """Returns the log loss of each prediction, in nats; probabilities are clipped."""
    p = probabilities.clip(_CLIP, 1 - _CLIP)
    losses: Doubles = -np.where(targets > 0, np.log(p), np.log1p(-p))
    return losses


class ErrorEstimate(NamedTuple):
    """An expected calibration error and its 95% interval."""

    error: float
    low: float
    high: float
    predictions: int


def estimate_error(forecasts: Forecasts, sentences: Ints, *, resamples: int = _RESAMPLES) -> ErrorEstimate:
    """Returns the calibration error of predictions, with a bootstrap interval over the sentences of the predictions.

    The error of a bin is the absolute value of a sum over its predictions, so the sums of each sentence are enough.
    """
    p = forecasts.confidences
    if not len(p):
        return ErrorEstimate(0.0, 0.0, 0.0, 0)
    numbers = np.unique(sentences, return_inverse=True)[1]
    sums = np.zeros((numbers.max() + 1, BINS + 1))  # the last column has the number of predictions
    np.add.at(sums, (numbers, _bin_numbers(p)), p - forecasts.correct)
    sums[:, -1] = np.bincount(numbers)
    totals = np.concatenate([[sums.sum(0)], resampled_totals(sums, resamples, seed=0)])
    errors = abs(totals[:, :-1]).sum(1) / totals[:, -1]
    return ErrorEstimate(float(errors[0]), *percentile_interval(errors[1:]), len(p))


def error_of_perfect_calibration(probabilities: Doubles) -> float:
    """Returns the mean error if every probability were right and predictions were independent.

    It is above 0, because the share of correct predictions in a bin varies by chance.
    """
    if not len(probabilities):
        return 0.0
    generator, bins = np.random.default_rng(0), _bin_numbers(probabilities)
    errors = []
    for _ in range(_CHANCE_SAMPLES):
        is_correct = generator.random(len(probabilities)) < probabilities
        errors.append(abs(np.bincount(bins, probabilities - is_correct, minlength=BINS)).sum() / len(probabilities))
    return float(np.mean(errors))


class SelectionPoint(NamedTuple):
    """F1 of selective prediction, where only the sentences of the highest confidence are parsed."""

    coverage: float  # share of the sentences
    f1: float  # over these sentences, in percent
    confidence: float  # the lowest confidence among these sentences


def selection_curve(confidences: Doubles, trees: Sequence[PredictedTree], *, points: int = 20) -> list[SelectionPoint]:
    """Returns F1 by coverage, from few to all sentences."""
    if not trees:
        return []
    order = np.argsort(-confidences, kind="stable")
    counts = np.array([(tree.gold, tree.predicted, tree.matched) for tree in trees], float)
    sums = np.cumsum(counts[order], axis=0)
    curve = []
    for point in range(1, points + 1):
        last = max(1, round(len(order) * point / points)) - 1
        gold, predicted, matched = sums[last]
        f1 = 200 * matched / (gold + predicted) if gold + predicted else 0.0
        curve.append(SelectionPoint((last + 1) / len(order), float(f1), float(confidences[order[last]])))
    return curve


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
    return {kind: precision_threshold(predictions.forecasts(kind), precision) for kind in SELECTION_KINDS}
