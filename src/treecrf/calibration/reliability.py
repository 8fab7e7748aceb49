"""Whether what is said to be so probable comes true so often; and how much better it gets where one may pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

BINS = 15

Numbers = npt.NDArray[np.float64]


class Bin(NamedTuple):
    """Predictions of about one probability."""

    low: float
    high: float
    predictions: int
    confidence: float  # their mean probability
    accuracy: float  # the share of them that is right


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """Predictions by their probability, and how far probability and truth are apart."""

    bins: tuple[Bin, ...]  # those that hold any
    predictions: int
    confidence: float
    accuracy: float
    error: float  # expected calibration error: the mean distance in a bin, over predictions
    log_loss: float  # in nats


def reliability(probabilities: Sequence[float] | Numbers, right: Sequence[bool], *, bins: int = BINS) -> Reliability:
    """Sort predictions into bins of equal width.

    >>> found = reliability([0.9, 0.9, 0.9, 0.9, 0.2], [True, True, True, False, False], bins=10)
    >>> round(found.error, 3)  # (4 * |0.9 - 0.75| + |0.2 - 0|) / 5
    0.16
    """
    said, true = np.asarray(probabilities, float), np.asarray(right, float)
    if said.shape != true.shape:
        raise ValueError(f"{len(said)} probabilities of {len(true)} predictions; expected one for each")
    if not len(said):
        return Reliability(bins=(), predictions=0, confidence=0.0, accuracy=0.0, error=0.0, log_loss=0.0)
    places = np.minimum((said * bins).astype(int), bins - 1)
    found = []
    for place in range(bins):
        here = places == place
        if here.any():
            confidence, accuracy = float(said[here].mean()), float(true[here].mean())
            found.append(Bin(place / bins, (place + 1) / bins, int(here.sum()), confidence, accuracy))
    return Reliability(
        bins=tuple(found),
        predictions=len(said),
        confidence=float(said.mean()),
        accuracy=float(true.mean()),
        error=sum(bin_.predictions * abs(bin_.confidence - bin_.accuracy) for bin_ in found) / len(said),
        log_loss=float(log_losses(said, true).mean()),
    )


def log_losses(said: Numbers, true: Numbers) -> Numbers:
    """-log of the probability that was given to what came true, at most 14 each."""
    said = said.clip(1e-6, 1 - 1e-6)
    losses: Numbers = -np.where(true > 0, np.log(said), np.log1p(-said))
    return losses


class Answered(NamedTuple):
    """What remains where only the surest sentences are answered."""

    coverage: float  # the share of sentences
    f1: float  # of those, in percent
    confidence: float  # of the least sure of them


def risk_coverage(
    confidences: Sequence[float], counts: Sequence[tuple[int, int, int]], *, points: int = 20
) -> list[Answered]:
    """F where sentences are answered from the surest on; `counts` are gold, predicted and matched brackets of each."""
    if not len(confidences):
        return []
    order = np.argsort(-np.asarray(confidences, float), kind="stable")
    sums = np.cumsum(np.asarray(counts, float).reshape(-1, 3)[order], axis=0)
    found = []
    for point in range(1, points + 1):
        last = max(1, round(len(order) * point / points)) - 1
        gold, predicted, matched = sums[last]
        f1 = 200 * matched / (gold + predicted) if gold + predicted else 0.0
        found.append(Answered((last + 1) / len(order), float(f1), float(confidences[order[last]])))
    return found
