"""Calibration by treebank: errors with intervals, by frequency of the label, and coverage at a precision."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from treecrf.training.calibration.intervals import ErrorEstimate, error_of_perfect_calibration, estimate_error
from treecrf.training.calibration.predictions import Forecasts, Predictions, constituents_below_root
from treecrf.training.calibration.selection import Selection, candidates, select
from treecrf.trees.tree import Tree

FREQUENT = 10  # labels that count as frequent


@dataclass(frozen=True, kw_only=True)
class TreebankCalibration:
    """The calibration of a parser on one treebank."""

    name: str
    sentences: int
    constituents: ErrorEstimate
    frequent: ErrorEstimate  # of the constituents with the most frequent labels
    rare: ErrorEstimate  # of the other constituents
    trees: ErrorEstimate
    trees_by_chance: float  # the error that perfectly calibrated probabilities would have
    selections: dict[str, Selection]  # by kind, at the thresholds that were chosen on development trees


def frequent_labels(trees: Iterable[Tree], *, count: int = FREQUENT) -> set[str]:
    """The most frequent labels of constituents below the root."""
    counts = Counter(span.label for tree in trees for span in constituents_below_root(tree).elements())
    return {label for label, _ in counts.most_common(count)}


def break_down(
    name: str, predictions: Predictions, *, frequent: Collection[str], thresholds: Mapping[str, float]
) -> TreebankCalibration:
    """The calibration on one treebank, given the frequent labels and the thresholds of a development set."""
    sentences = np.repeat(np.arange(len(predictions.counts)), [predicted for _, predicted, _ in predictions.counts])
    is_frequent = [label in frequent for label in predictions.labels]
    units = candidates(predictions)
    return TreebankCalibration(
        name=name,
        sentences=len(predictions.counts),
        constituents=estimate_error(predictions.labeled, sentences.tolist()),
        frequent=_estimate_part(predictions.labeled, sentences.tolist(), is_frequent),
        rare=_estimate_part(predictions.labeled, sentences.tolist(), [not is_one for is_one in is_frequent]),
        trees=estimate_error(predictions.trees, range(len(predictions.counts))),
        trees_by_chance=error_of_perfect_calibration(predictions.trees.probabilities),
        selections={kind: select(units[kind], threshold) for kind, threshold in thresholds.items()},
    )


def _estimate_part(forecasts: Forecasts, sentences: Sequence[int], is_member: Sequence[bool]) -> ErrorEstimate:
    members = Forecasts(
        probabilities=list(compress(forecasts.probabilities, is_member)),
        is_correct=list(compress(forecasts.is_correct, is_member)),
    )
    return estimate_error(members, list(compress(sentences, is_member)))


def error_table(rows: Iterable[TreebankCalibration]) -> Iterator[str]:
    """A Markdown table of calibration errors, with their 95% intervals by bootstrap over sentences."""
    yield (
        f"| treebank | sentences | constituents | labeled constituents | {FREQUENT} most frequent labels "
        "| other labels | whole trees | whole trees, by chance |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        errors = " | ".join(_format_error(error) for error in (row.constituents, row.frequent, row.rare, row.trees))
        yield (
            f"| {row.name} | {row.sentences:,} | {row.constituents.predictions:,} | {errors} "
            f"| {row.trees_by_chance:.4f} |"
        )


def _format_error(estimate: ErrorEstimate) -> str:
    return f"{estimate.error:.4f} ({estimate.low:.3f} to {estimate.high:.3f})" if estimate.predictions else ""


def coverage_table(rows: Iterable[TreebankCalibration], *, precision: float) -> Iterator[str]:
    """A Markdown table of the shares that are kept at the thresholds, and of their precisions."""
    percent = f"{100 * precision:g} %"
    yield (
        f"| treebank | constituents kept | {percent} | sentences kept | {percent} of their constituents "
        f"| sentences kept | {percent} entirely correct |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        cells = [f"{100 * share:.1f} %" for selection in row.selections.values() for share in selection]
        yield f"| {row.name} | {' | '.join(cells)} |"
