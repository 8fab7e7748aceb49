"""Reliability of probabilities: calibration error, log loss, and selective prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints

BINS = 15
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
    probabilities: Sequence[float] | Doubles, is_correct: Sequence[bool], *, bins: int = BINS
) -> Reliability:
    """The reliability of predictions, in bins of equal width.

    >>> result = reliability([0.9, 0.9, 0.9, 0.9, 0.2], [True, True, True, False, False], bins=10)
    >>> round(result.error, 3)  # (4 * |0.9 - 0.75| + |0.2 - 0|) / 5
    0.16
    """
    p, targets = np.asarray(probabilities, float), np.asarray(is_correct, float)
    if p.shape != targets.shape:
        raise ValueError(f"{len(p)} probabilities for {len(targets)} predictions; expected one for each")
    if not len(p):
        return Reliability(bins=(), predictions=0, confidence=0.0, accuracy=0.0, error=0.0, log_loss=0.0)
    numbers = bin_numbers(p, bins)
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


def bin_numbers(probabilities: Doubles, bins: int = BINS) -> Ints:
    """The number of the bin of equal width that contains each probability."""
    return np.minimum((probabilities * bins).astype(np.int64), bins - 1)


def log_losses(probabilities: Doubles, targets: Doubles) -> Doubles:
    """The log loss of each prediction, in nats; probabilities are clipped."""
    p = probabilities.clip(_CLIP, 1 - _CLIP)
    losses: Doubles = -np.where(targets > 0, np.log(p), np.log1p(-p))
    return losses


class CoveragePoint(NamedTuple):
    """F1 of selective prediction, where only the sentences of the highest confidence are parsed."""

    coverage: float  # share of the sentences
    f1: float  # over these sentences, in percent
    confidence: float  # the lowest confidence among these sentences


def coverage_curve(
    confidences: Sequence[float] | Doubles, counts: Sequence[tuple[int, int, int]], *, points: int = 20
) -> list[CoveragePoint]:
    """F1 by coverage, from few to all sentences; `counts` has the gold, predicted and matched brackets of each."""
    if not len(confidences):
        return []
    order = np.argsort(-np.asarray(confidences, float), kind="stable")
    sums = np.cumsum(np.asarray(counts, float).reshape(-1, 3)[order], axis=0)
    curve = []
    for point in range(1, points + 1):
        last = max(1, round(len(order) * point / points)) - 1
        gold, predicted, matched = sums[last]
        f1 = 200 * matched / (gold + predicted) if gold + predicted else 0.0
        curve.append(CoveragePoint((last + 1) / len(order), float(f1), float(confidences[order[last]])))
    return curve
