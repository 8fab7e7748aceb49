"""A calibrated parser in a folder, with the record of how it was calibrated."""

import json
from pathlib import Path
from typing import Any

from treecrf.atomic_io import write_file
from treecrf.calibration.fit import Adjustment
from treecrf.calibration.report import Calibration
from treecrf.parser import Parser
from treecrf.training.checkpoint import RECIPE
from treecrf.training.metrics_log import NAME as JOURNAL

RECORD = "calibration.json"


def save_calibrated(
    source: str | Path,
    folder: Path,
    parser: Parser,
    adjustment: Adjustment,
    *,
    before: Calibration,
    after: Calibration,
) -> None:
    """Write the parser, what was done to it, and how reliable it was and is.

    What tells of a training run is copied from where the parser came from, so that it can be packed.
    """
    parser.save(folder)
    for name in (RECIPE, JOURNAL):
        if (Path(source) / name).is_file() and Path(source).resolve() != folder.resolve():
            write_file(folder / name, (Path(source) / name).read_bytes())
    write_file(folder / RECORD, json.dumps(record(adjustment, before, after), indent=1).encode())


def record(adjustment: Adjustment, before: Calibration, after: Calibration) -> dict[str, Any]:
    """All that is known of a calibration, in values that JSON can hold."""
    temperatures, price, curve = adjustment
    done = {"temperatures": temperatures._asdict(), "price": price, "curve": curve._asdict()}
    return {**done, "before": before.as_dict(), "after": after.as_dict()}
