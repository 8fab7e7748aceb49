"""Bootstrap over sentences: confidence intervals of scores, and a paired test of two systems."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecrf.trees.bootstrap import Interval, percentile_interval, resampled_totals
from treecrf.trees.evalb.match import Status
from treecrf.trees.evalb.score import Score, SentenceScore

RESAMPLES = 2000
SIGNIFICANCE_LEVEL = 0.05


class Comparison(NamedTuple):
    """The F1 of two systems on the same sentences, and a test of their difference."""

    f1: float
    other_f1: float
    difference: float
    interval: Interval  # interval of the difference
    p_value: float  # two-sided


def intervals(score: Score, *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Interval]:
    """95% intervals of the main percentages; empty if there is no valid sentence."""
    if not score.all.valid:
        return {}
    totals = _resample([score], resamples, seed)[0]
    return {name: percentile_interval(values) for name, values in _percentages(totals).items()}


def f1_interval(score: Score) -> Interval:
    """The 95% interval of F1; F1 itself if EVALB scores no sentence."""
    return intervals(score).get("f1", Interval(score.f1, score.f1))


def compare(score: Score, other: Score, *, resamples: int = RESAMPLES, seed: int = 0) -> Comparison:
    """Tests whether the F1 of `score` and `other` differ significantly; both must have the same gold trees.

    A resample has the same sentences for both systems. The p-value is the proportion of resamples whose difference is
    at least as far from the observed difference as the observed difference is from zero.
    """
    _check_sizes([score], [other])
    f1s, other_f1s = (_percentages(totals)["f1"] for totals in _resample([score, other], resamples, seed))
    differences = np.subtract(f1s, other_f1s)
    observed = score.f1 - other.f1
    p_value = _p_value(abs(differences - observed), observed)
    return Comparison(score.f1, other.f1, observed, percentile_interval(differences), p_value)


def compare_runs(
    scores: Sequence[Score], others: Sequence[Score], *, resamples: int = RESAMPLES, seed: int = 0
) -> Comparison:
    """Tests whether the mean F1 of two systems differ, by a hierarchical bootstrap over seeds and sentences.

    Runs at the same place have the same seed, so each seed has a difference. A resample draws sentences, the same ones
    for all runs, and adds a random effect of the seeds: their number k is small, so the effect is drawn from Student's
    t with k - 1 degrees of freedom, scaled to the standard error of the mean over seeds. The interval is symmetric and
    excludes 0 exactly if p is at most 0.05: both are from the same resamples. One seed has no variation between seeds.
    """
    _check_sizes(scores, others)
    f1_samples = [_percentages(totals)["f1"] for totals in _resample([*scores, *others], resamples, seed)]
    f1, other_f1 = (statistics.fmean(score.f1 for score in group) for group in (scores, others))
    observed, runs = f1 - other_f1, len(scores)
    errors = np.mean(f1_samples[:runs], axis=0) - np.mean(f1_samples[runs:], axis=0) - observed
    if runs > 1:
        deviation = statistics.stdev(score.f1 - other.f1 for score, other in zip(scores, others, strict=True))
        effects = np.random.default_rng([seed, runs]).standard_t(runs - 1, resamples)
        errors += deviation / math.sqrt(runs) * effects
    distances = np.sort(abs(errors))
    radius = float(distances[math.ceil((1 - SIGNIFICANCE_LEVEL) * (resamples + 1)) - 1])
    interval = Interval(observed - radius, observed + radius)
    return Comparison(f1, other_f1, observed, interval, _p_value(distances, observed))


def _p_value(distances: NDArray[np.float64], observed: float) -> float:
    """The share of resamples that are at least as far from the observed difference as it is from zero."""
    return (int((distances >= abs(observed)).sum()) + 1) / (len(distances) + 1)


def _check_sizes(scores: Sequence[Score], others: Sequence[Score]) -> None:
    sizes = sorted({len(score.sentences) for score in (*scores, *others)}, reverse=True)
    if not scores or len(scores) != len(others) or sizes[1:] or not sizes[0]:
        raise ValueError(
            f"cannot compare {len(scores)} and {len(others)} scores of {' and '.join(map(str, sizes)) or 'no'} "
            "sentences; expected as many of each, one or more, all of the same gold trees"
        )


def _resample(scores: list[Score], resamples: int, seed: int) -> list[NDArray[np.float64]]:
    """For each score, the summed counts of its valid sentences in each resample: (counts, resamples)."""
    rows = [[_counts(sentence) for sentence in score.sentences] for score in scores]
    counts = np.concatenate(np.array(rows, dtype=np.float64), axis=1)  # (sentences, all counts of all scores)
    return np.split(resampled_totals(counts, resamples, seed=seed).T, len(scores))


def _counts(sentence: SentenceScore) -> list[int]:
    counts = sentence.counts
    complete = counts.gold == counts.predicted == counts.matched
    values = [1, counts.gold, counts.predicted, counts.matched, counts.unlabeled, complete, counts.words, counts.tags]
    return [value * (sentence.status == Status.VALID) for value in values]


def _percentages(totals: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    valid, gold, predicted, matched, unlabeled, complete, words, tags = totals
    return {
        "recall": _percent(matched, gold),
        "precision": _percent(matched, predicted),
        "f1": _percent(2 * matched, gold + predicted),
        "unlabeled_f1": _percent(2 * unlabeled, gold + predicted),
        "complete_match": _percent(complete, valid),
        "tagging_accuracy": _percent(tags, words),
    }


def _percent(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    percentages: NDArray[np.float64] = 100 * part / whole.clip(min=1)
    return percentages
