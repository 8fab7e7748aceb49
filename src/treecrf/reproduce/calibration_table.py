"""Calibration of the main row's parsers: fitted on dev, judged on test, kept beside each run."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecrf.atomic_io import write_file
from treecrf.calibration import KINDS, Calibration, calibrate, measure
from treecrf.calibration.io import RECORD, record
from treecrf.calibration.plot import draw
from treecrf.parser import Parser
from treecrf.reproduce.ablations import MAIN
from treecrf.reproduce.results import Results

PICTURE = "calibration.svg"


@dataclass(frozen=True, kw_only=True)
class CalibrationTable:
    """How reliable the parsers of all seeds are, before and after calibration."""

    temperatures: list[dict[str, float]]
    curves: list[dict[str, float]]
    errors: dict[str, dict[str, float]]  # by kind and moment, the mean over seeds
    coverage: dict[str, list[dict[str, float]]]  # by moment, of the first seed
    has_picture: bool


def judge(results: Results, *, device: str | None = None) -> CalibrationTable | None:
    """Calibrate each finished run of the main row, unless that was done; draw the first one."""
    seeds = results.seeds(MAIN)
    if not seeds:
        return None
    records = [_record(results, seed, device, is_first=seed == seeds[0]) for seed in seeds]
    return CalibrationTable(
        temperatures=[found["temperatures"] for found in records],
        curves=[found["curve"] for found in records],
        errors={kind: {when: _mean(records, when, kind) for when in ("before", "after")} for kind in KINDS},
        coverage={when: records[0][when]["coverage"] for when in ("before", "after")},
        has_picture=(results.plan.out / PICTURE).exists(),
    )


def _mean(records: Sequence[dict[str, Any]], when: str, kind: str) -> float:
    return statistics.fmean(found[when][kind]["error"] for found in records)


def _record(results: Results, seed: int, device: str | None, *, is_first: bool) -> dict[str, Any]:
    folder = results.folder(MAIN, seed)
    path = folder / RECORD
    if not path.exists():
        _calibrate(results, folder, device, results.plan.out / PICTURE if is_first else None)
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def _calibrate(results: Results, folder: Path, device: str | None, picture: Path | None) -> None:
    parser = Parser.load(folder, device, precision="float32")
    trees = results.plan.treebank.trees
    before = measure(parser, trees["test"])
    adjustment = calibrate(parser, trees["dev"])
    after = measure(parser, trees["test"])
    if picture is not None:
        _draw({"before": before, "after": after}, picture)
    write_file(folder / RECORD, json.dumps(record(adjustment, before, after), indent=1).encode())


def _draw(found: dict[str, Calibration], picture: Path) -> None:
    try:
        draw(found, picture)
    except ImportError:
        picture.unlink(missing_ok=True)  # the report says that there is none, and why
