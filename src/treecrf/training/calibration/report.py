"""The calibration report of a parser on gold trees."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from treecrf.parser import Parser
from treecrf.training.calibration.predictions import Predictions, collect_predictions
from treecrf.training.calibration.reliability import CoveragePoint, Reliability, coverage_curve, reliability
from treecrf.trees.tree import Tree

# titles of the kinds of predictions, by their key in calibration.json
KINDS = {"labeled": "constituents, labeled", "unlabeled": "constituents, unlabeled", "trees": "whole trees"}


@dataclass(frozen=True, kw_only=True)
class CalibrationReport:
    """The reliability of a parser's probabilities, and F1 by coverage."""

    reliability: dict[str, Reliability]  # by kind
    coverage: tuple[CoveragePoint, ...]  # sentences are ordered by the mean probability of their constituents

    def as_dict(self) -> dict[str, Any]:
        """Returns the report in JSON values."""
        kinds = {
            kind: asdict(result) | {"bins": [bin_._asdict() for bin_ in result.bins]}
            for kind, result in self.reliability.items()
        }
        return {**kinds, "coverage": [point._asdict() for point in self.coverage]}


def measure(parser: Parser, trees: Sequence[Tree], *, mbr: bool = True) -> CalibrationReport:
    """Parses the words of gold trees and compares probabilities with accuracies."""
    return summarize(collect_predictions(parser, trees, mbr=mbr))


def summarize(predictions: Predictions) -> CalibrationReport:
    """Builds the calibration report of predictions."""
    return CalibrationReport(
        reliability={kind: reliability(*predictions.forecasts(kind)[:2]) for kind in KINDS},
        coverage=tuple(coverage_curve(predictions.forecasts("sentences").confidences, predictions.trees)),
    )
