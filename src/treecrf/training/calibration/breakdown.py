"""Calibration by treebank: errors with intervals, by frequency of the label, and coverage at a precision."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from treecrf.arrays import Mask
from treecrf.training.calibration.predictions import Forecasts, Predictions
from treecrf.training.calibration.reliability import (
    ErrorEstimate,
    Selection,
    error_of_perfect_calibration,
    estimate_error,
    select,
)
from treecrf.training.markdown import render
from treecrf.trees.tree import Tree

FREQUENT = 10  # labels that count as frequent


@dataclass(frozen=True, kw_only=True)
class CalibrationBreakdown:
    """The calibration of a parser on one treebank."""

    name: str
    sentences: int
    constituents: ErrorEstimate
    frequent: ErrorEstimate  # constituents with the most frequent labels
    rare: ErrorEstimate  # the other constituents
    trees: ErrorEstimate
    trees_by_chance: float  # the error that perfectly calibrated probabilities would have
    selections: dict[str, Selection]  # by kind, at the thresholds that were chosen on development trees


def frequent_labels(trees: Iterable[Tree], *, count: int = FREQUENT) -> set[str]:
    """Returns the most frequent labels of constituents below the root."""
    counts = Counter(span.label for tree in trees for span in tree.spans()[1:])
    return {label for label, _ in counts.most_common(count)}


def break_down(
    name: str, predictions: Predictions, *, frequent: Collection[str], thresholds: Mapping[str, float]
) -> CalibrationBreakdown:
    """Measures the calibration on one treebank, given the frequent labels and the thresholds of a development set."""
    sentences, labeled = predictions.constituent_sentences, predictions.forecasts("labeled")
    is_frequent = np.array([label in frequent for label, _, _ in predictions.constituents], bool)

    def estimate(is_member: Mask) -> ErrorEstimate:
        return estimate_error(Forecasts(*(column[is_member] for column in labeled)), sentences[is_member])

    trees = predictions.forecasts("trees")
    return CalibrationBreakdown(
        name=name,
        sentences=len(predictions.trees),
        constituents=estimate_error(labeled, sentences),
        frequent=estimate(is_frequent),
        rare=estimate(~is_frequent),
        trees=estimate_error(trees, np.arange(len(predictions.trees))),
        trees_by_chance=error_of_perfect_calibration(trees.confidences),
        selections={kind: select(predictions.forecasts(kind), threshold) for kind, threshold in thresholds.items()},
    )


def to_markdown(rows: Iterable[CalibrationBreakdown], *, precision: float) -> str:
    """Formats calibration errors with their 95% intervals, and the shares that are kept at a precision, as tables."""
    return render("calibration.md", rows=list(rows), frequent=FREQUENT, precision=precision)
