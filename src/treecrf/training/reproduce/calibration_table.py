"""The calibration table: the parsers of the main row, calibrated on dev and measured on test."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecrf.parser import Parser
from treecrf.training.calibration import KINDS, CalibrationReport, calibrate, measure
from treecrf.training.calibration.io import RECORD, read_record, write_record
from treecrf.training.calibration.plot import plot_reports
from treecrf.training.reproduce.ablations import MAIN
from treecrf.training.reproduce.results import Results

PLOT = "calibration.svg"


@dataclass(frozen=True, kw_only=True)
class CalibrationTable:
    """The calibration of the main row's parsers before and after they are calibrated."""

    temperatures: list[dict[str, float]]  # by seed
    beta: list[dict[str, float]]  # by seed
    errors: dict[str, dict[str, float]]  # by kind, "before" and "after": mean calibration error over seeds
    coverage: dict[str, list[dict[str, float]]]  # "before" and "after": F1 by coverage, of the first seed
    has_picture: bool


def calibration_table(results: Results, *, device: str | None = None) -> CalibrationTable | None:
    """Calibrates the finished runs of the main row, each once, and plots the first; None if no run is finished."""
    seeds = results.seeds(MAIN)
    if not seeds:
        return None
    records = [_calibrate_once(results, seed, device, is_plotted=seed == seeds[0]) for seed in seeds]
    return CalibrationTable(
        temperatures=[record["temperatures"] for record in records],
        beta=[record["beta"] for record in records],
        errors={kind: {when: _mean_error(records, when, kind) for when in ("before", "after")} for kind in KINDS},
        coverage={when: records[0][when]["coverage"] for when in ("before", "after")},
        has_picture=(results.plan.out / PLOT).exists(),
    )


def _mean_error(records: Sequence[dict[str, Any]], when: str, kind: str) -> float:
    return statistics.fmean(record[when][kind]["error"] for record in records)


def _calibrate_once(results: Results, seed: int, device: str | None, *, is_plotted: bool) -> dict[str, Any]:
    """The record of a run's calibration, which is written if it does not exist yet."""
    folder = results.folder(MAIN, seed)
    if not (folder / RECORD).exists():
        _calibrate(results, folder, device, results.plan.out / PLOT if is_plotted else None)
    return read_record(folder)


def _calibrate(results: Results, folder: Path, device: str | None, plot: Path | None) -> None:
    parser = Parser.load(folder, device, precision="float32")
    trees = results.plan.treebank.trees
    before = measure(parser, trees["test"])
    parameters = calibrate(parser, trees["dev"])
    after = measure(parser, trees["test"])
    if plot is not None:
        _plot({"before": before, "after": after}, plot)
    write_record(folder, parameters, before=before, after=after)


def _plot(reports: dict[str, CalibrationReport], path: Path) -> None:
    try:
        plot_reports(reports, path)
    except ImportError:
        path.unlink(missing_ok=True)  # without matplotlib, the report says how to install it
