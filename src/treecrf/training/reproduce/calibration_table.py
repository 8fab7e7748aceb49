"""The calibration table: the parsers of the main row, calibrated on dev and measured on test."""

import statistics
from pathlib import Path
from typing import Any

from treecrf.parser import Parser
from treecrf.training.calibration import KINDS, calibrate, measure
from treecrf.training.calibration.plot import plot_reports
from treecrf.training.calibration.report import RECORD, read_record, write_record
from treecrf.training.reproduce.ablations import MAIN
from treecrf.training.reproduce.table import Results

_PLOT = "calibration.svg"


def calibration_table(results: Results, device: str | None = None) -> dict[str, Any]:
    """Calibrates the finished runs of the main row, each once, and plots the first; empty if no run is finished.

    Errors are mean calibration errors over seeds, coverage has F1 by coverage of the first seed.
    """
    plot = results.plan.out / _PLOT
    records: list[dict[str, Any]] = []
    for seed in results.seeds(MAIN):
        folder = results.folder(MAIN, seed)
        if not (folder / RECORD).exists():
            _calibrate(results, folder, device, None if records else plot)
        records.append(read_record(folder))
    if not records:
        return {}
    return {
        "temperatures": [record["temperatures"] for record in records],
        "beta": [record["beta"] for record in records],
        "errors": {
            kind: {
                when: statistics.fmean(record[when][kind]["error"] for record in records)
                for when in ("before", "after")
            }
            for kind in KINDS
        },
        "coverage": {when: records[0][when]["coverage"] for when in ("before", "after")},
        "has_picture": plot.exists(),
    }


def _calibrate(results: Results, folder: Path, device: str | None, plot: Path | None) -> None:
    parser = Parser.load(folder, device, precision="float32")
    trees = results.plan.treebank.trees
    before = measure(parser, trees["test"])
    parameters = calibrate(parser, trees["dev"])
    after = measure(parser, trees["test"])
    if plot is not None:
        try:
            plot_reports({"before": before, "after": after}, plot)
        except ImportError:
            plot.unlink(missing_ok=True)  # without matplotlib, the report says how to install it
    write_record(folder, parameters, before=before, after=after)
