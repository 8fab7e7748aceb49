"""The calibration report of a parser on gold trees, its plot, and the record of a calibration in a parser's folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treecrf.files import DamagedFileError, parse_json, read_regular_file, write_file
from treecrf.parser import Parser
from treecrf.parser.decoding.calibration import TreeCalibration
from treecrf.parser.storage import copy_with_config
from treecrf.training.calibration.fit import CalibrationParameters, calibrate
from treecrf.training.calibration.predictions import Predictions, collect_predictions
from treecrf.training.calibration.reliability import Reliability, SelectionPoint, reliability, selection_curve
from treecrf.training.checkpoint import RECIPE, RULES
from treecrf.training.metrics_log import NAME as METRICS_LOG
from treecrf.training.plots import new_figure, save_figure
from treecrf.trees.evalb import Rules
from treecrf.trees.tree import Tree

RECORD = "calibration.json"
# titles of the kinds of predictions, by their key in calibration.json
KINDS = {"labeled": "constituents, labeled", "unlabeled": "constituents, unlabeled", "trees": "whole trees"}


@dataclass(frozen=True, kw_only=True)
class CalibrationReport:
    """The reliability of a parser's probabilities, and F1 by coverage."""

    reliability: dict[str, Reliability]  # by kind
    coverage: tuple[SelectionPoint, ...]  # sentences are ordered by the mean probability of their constituents

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
    return CalibrationReport(
        reliability={kind: reliability(*predictions.forecasts(kind)[:2]) for kind in KINDS},
        coverage=tuple(selection_curve(predictions.forecasts("sentences").confidences, predictions.trees)),
    )


def is_calibrated(folder: Path) -> bool:
    """Whether the parser in a folder has a calibration of trees."""
    return Parser.load(folder, "cpu").tree_calibration != TreeCalibration()


def calibrate_folder(
    folder: Path, trees: Sequence[Tree], *, rules: Rules, device: str | None = None
) -> CalibrationReport:
    """Calibrates the parser in a folder on development trees; returns the errors that remain on them."""
    parser = Parser.load(folder, device, precision="float32")
    before = measure(parser, trees)
    parameters = calibrate(parser, trees, find_threshold=True, rules=rules)
    after = measure(parser, trees)
    save_calibrated(folder, folder, parser, parameters, before=before, after=after)
    return after


def save_calibrated(
    source: str | Path,
    folder: Path,
    parser: Parser,
    parameters: CalibrationParameters,
    *,
    before: CalibrationReport,
    after: CalibrationReport,
    keep_weights: bool = False,
) -> None:
    """Saves the parser and the record of its calibration. With `keep_weights`, the weights of the source stay.

    If the parser was loaded from a training run, the run's recipe, EVALB rules and metrics log are copied, so that
    `treecrf pack` can pack the new folder.
    """
    if keep_weights:
        copy_with_config(source, folder, parser.config)
    else:
        parser.save(folder)
    for name in (RECIPE, RULES, METRICS_LOG):
        if (Path(source) / name).is_file() and Path(source).resolve() != folder.resolve():
            write_file(folder / name, read_regular_file(Path(source) / name))
    write_record(folder, parameters, before=before, after=after)


def write_record(
    folder: Path, parameters: CalibrationParameters, *, before: CalibrationReport, after: CalibrationReport
) -> None:
    """Writes the record of a calibration into a parser's folder."""
    record = {
        "temperatures": parameters.temperatures._asdict(),
        "f1_threshold": parameters.f1_threshold,
        "beta": parameters.beta._asdict(),
        "trees": parameters.trees._asdict(),
        "before": before.as_dict(),
        "after": after.as_dict(),
    }
    write_file(folder / RECORD, json.dumps(record, indent=1).encode())


def read_record(folder: Path) -> dict[str, Any]:
    """Reads the record of a calibration."""
    path = folder / RECORD
    record = parse_json(read_regular_file(path), path)
    if not isinstance(record, dict):
        raise DamagedFileError(f"{path} is {record!r:.50}; expected the record of a calibration")
    return record


def plot_reports(reports: Mapping[str, CalibrationReport], path: Path) -> None:
    """Plots one line per report, labeled with the report's name, into an .svg, .png or .pdf file."""
    figure, (*diagrams, coverage) = new_figure(len(KINDS) + 1)
    for axes, (kind, title) in zip(diagrams, KINDS.items(), strict=True):
        axes.plot([0, 1], [0, 1], color="0.7", lw=1)
        for name, report in reports.items():
            bins, error = report.reliability[kind].bins, report.reliability[kind].error
            points = [bin_.confidence for bin_ in bins], [bin_.accuracy for bin_ in bins]
            axes.plot(*points, "o-", ms=3, label=f"{name}: error {error:.3f}")
        axes.set(title=title, xlabel="probability", ylabel="share correct", xlim=(0, 1), ylim=(0, 1))
        axes.legend(fontsize="small")
    for report in reports.values():
        percents = [100 * point.coverage for point in report.coverage]
        coverage.plot(percents, [point.f1 for point in report.coverage], "o-", ms=3)
    coverage.set(title="selective prediction", xlabel="coverage (% of sentences)", ylabel="F1")
    save_figure(figure, path)
