"""Advice after a training run: what is likely to raise the score, from the run's own figures."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from treecrf.trees.bootstrap import Interval

_WIDE_INTERVAL = 4.0  # points of F
_MANY_UNKNOWN_WORDS = 0.08
_LATE_EPOCH = 0.9  # of all epochs
_MANY_TREES = 10_000
_SMALL_GAIN = 0.5  # points of F


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """Figures of a training run. `unknown_word_share` is the share of dev words that train does not have."""

    trees: int
    f1: float
    interval: Interval
    scored_part: str
    unknown_word_share: float
    has_pretrained_words: bool
    best_epoch: int
    epochs: int
    learning_curve: Mapping[int, float]  # dev F by the number of training trees


def advise(figures: RunFigures) -> list[str]:
    """Sentences that say what to try next, the most promising first."""
    return [*_about_trees(figures), *_about_words(figures), *_about_epochs(figures), *_about_interval(figures)]


def expected_gain(learning_curve: Mapping[int, float]) -> float | None:
    """The points of F that twice as many trees are expected to add; None with less than two numbers of trees.

    The error 100 - F is assumed to be a power of the number of trees, through the last two points of the curve.

    >>> expected_gain({100: 60.0, 200: 80.0})
    10.0
    """
    if len(learning_curve) < 2:
        return None
    (fewer, low), (more, high) = sorted(learning_curve.items())[-2:]
    error_ratio_per_doubling = ((100 - high) / (100 - low)) ** (1 / _doublings(fewer, more)) if low < 100 else 1.0
    return (100 - high) * (1 - error_ratio_per_doubling)


def _doublings(fewer: int, more: int) -> float:
    return math.log2(more / fewer)


def _about_trees(figures: RunFigures) -> Iterator[str]:
    gain = expected_gain(figures.learning_curve)
    if gain is not None and gain >= _SMALL_GAIN:
        yield f"More trees: by the learning curve, twice as many would add about {gain:.1f} points of F."
    elif gain is not None:
        yield f"Twice as many trees would add only about {max(gain, 0.0):.1f} points of F, by the learning curve."
    elif figures.trees < _MANY_TREES:
        yield (
            f"More trees: {figures.trees:,} are few. `--learning-curve` trains on a quarter and on half of them, and "
            "estimates how much more trees would help."
        )


def _about_words(figures: RunFigures) -> Iterator[str]:
    if figures.has_pretrained_words or figures.unknown_word_share < _MANY_UNKNOWN_WORDS:
        return
    yield (
        f"{figures.unknown_word_share:.0%} of the words of dev do not occur in train. An encoder for the language "
        "knows them (model.encoder=transformer model.transformer=NAME), and so do word vectors (data.vectors=FILE)."
    )


def _about_epochs(figures: RunFigures) -> Iterator[str]:
    if figures.best_epoch >= _LATE_EPOCH * figures.epochs:
        yield (
            f"The best epoch was {figures.best_epoch} of {figures.epochs}: longer training may help "
            f"(train.epochs={2 * figures.epochs})."
        )


def _about_interval(figures: RunFigures) -> Iterator[str]:
    low, high = figures.interval
    if high - low > _WIDE_INTERVAL:
        yield (
            f"The 95% interval on {figures.scored_part} is {high - low:.1f} points wide, so smaller differences "
            f"between two parsers mean nothing. More trees in {figures.scored_part} narrow it."
        )
