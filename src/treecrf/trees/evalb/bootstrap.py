"""Bootstrap over sentences: confidence intervals of scores, and a paired test of two systems."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from treecrf.trees.bootstrap import Interval, percentile_interval, resampled_totals
from treecrf.trees.evalb.match import Status
from treecrf.trees.evalb.score import Score
from treecrf.trees.evalb.summary import SentenceScore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 2000


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


def compare(score: Score, other: Score, *, resamples: int = RESAMPLES, seed: int = 0) -> Comparison:
    """Tests whether the F1 of `score` and `other` differ significantly; both must have the same gold trees.

    A resample has the same sentences for both systems. The p-value is the proportion of resamples whose difference is
    at least as far from the observed difference as the observed difference is from zero.
    """
    return compare_runs([score], [other], resamples=resamples, seed=seed)


def compare_runs(
    scores: Sequence[Score], others: Sequence[Score], *, resamples: int = RESAMPLES, seed: int = 0
) -> Comparison:
    """Tests whether the mean F1 of two systems differ, for systems with several training runs each.

    Only sentences are resampled, the same ones for all runs. The test covers the variation between sentences, not
    between seeds; the standard deviation over runs shows the latter.
    """
    import numpy as np

    sizes = sorted({len(score.sentences) for score in (*scores, *others)}, reverse=True)
    if not scores or not others or sizes[1:] or not sizes[0]:
        raise ValueError(
            f"cannot compare {len(scores)} and {len(others)} scores of {' and '.join(map(str, sizes)) or 'no'} "
            "sentences; expected one or more of each, all of the same gold trees"
        )
    f1_samples = [_percentages(totals)["f1"] for totals in _resample([*scores, *others], resamples, seed)]
    differences = np.mean(f1_samples[: len(scores)], axis=0) - np.mean(f1_samples[len(scores) :], axis=0)
    f1, other_f1 = (statistics.fmean(score.f1 for score in group) for group in (scores, others))
    observed = f1 - other_f1
    extremes = int((abs(differences - observed) >= abs(observed)).sum())
    return Comparison(f1, other_f1, observed, percentile_interval(differences), (extremes + 1) / (resamples + 1))


def _resample(scores: list[Score], resamples: int, seed: int) -> list[NDArray[np.float64]]:
    """For each score, the summed counts of its valid sentences in each resample: (counts, resamples)."""
    import numpy as np

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
