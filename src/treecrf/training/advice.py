"""Advice after a training run: what is likely to raise the score, from the run's own figures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from treecrf.trees.bootstrap import Interval

_WIDE_INTERVAL = 4.0  # points of F
_MANY_UNKNOWN_WORDS = 0.08
_LATE_EPOCH = 0.9  # share of all epochs
_MANY_TREES = 10_000
_SMALL_GAIN = 0.5  # points of F


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """Figures of a training run. `unknown_word_share` is the share of dev words that train does not have."""

    trees: int
    interval: Interval
    scored_part: str
    unknown_word_share: float
    has_pretrained_words: bool
    best_epoch: int
    epochs: int
    learning_curve: Mapping[int, float]  # dev F by the number of training trees


def advise(figures: RunFigures) -> list[str]:
    """Returns sentences that say what to try next, the most promising first."""
    advice = []
    gain = expected_gain(figures.learning_curve)
    if gain is not None and gain >= _SMALL_GAIN:
        advice.append(f"More trees: by the learning curve, twice as many would add about {gain:.1f} points of F.")
    elif gain is not None:
        advice.append(
            f"Twice as many trees would add only about {max(gain, 0.0):.1f} points of F, by the learning curve."
        )
    elif figures.trees < _MANY_TREES:
        advice.append(
            f"More trees: {figures.trees:,} are few. `--learning-curve` trains on a quarter and on half of them, and "
            "estimates how much more trees would help."
        )
    if not figures.has_pretrained_words and figures.unknown_word_share >= _MANY_UNKNOWN_WORDS:
        advice.append(
            f"{figures.unknown_word_share:.0%} of the words of dev do not occur in train. An encoder for the language "
            "knows them (model.encoder=transformer model.transformer=NAME), and so do word vectors (data.vectors=FILE)."
        )
    if figures.best_epoch >= _LATE_EPOCH * figures.epochs:
        advice.append(
            f"The best epoch was {figures.best_epoch} of {figures.epochs}: longer training may help "
            f"(train.epochs={2 * figures.epochs})."
        )
    low, high = figures.interval
    if high - low > _WIDE_INTERVAL:
        advice.append(
            f"The 95% interval on {figures.scored_part} is {high - low:.1f} points wide, so smaller differences "
            f"between two parsers mean nothing. More trees in {figures.scored_part} narrow it."
        )
    return advice


def expected_gain(learning_curve: Mapping[int, float]) -> float | None:
    """Estimates the points of F that twice as many trees add; None with less than two numbers of trees.

    The error 100 - F is assumed to be a power of the number of trees, through the last two points of the curve.

    >>> expected_gain({100: 60.0, 200: 80.0})
    10.0
    """
    if len(learning_curve) < 2:
        return None
    (fewer, low), (more, high) = sorted(learning_curve.items())[-2:]
    error_ratio = (100 - high) / (100 - low) if low < 100 else 1.0
    return (100 - high) * (1 - math.pow(error_ratio, 1 / math.log2(more / fewer)))
