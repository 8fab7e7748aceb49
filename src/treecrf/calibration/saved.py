"""A calibrated parser in a folder, with the record of how it was calibrated."""

import json
from pathlib import Path

from treecrf.calibration.report import Calibration
from treecrf.calibration.temperature import Temperatures
from treecrf.checkpoint import write_file
from treecrf.parser import Parser
from treecrf.train.journal import NAME as JOURNAL
from treecrf.train.resume import RECIPE

RECORD = "calibration.json"


def save_calibrated(
    source: str | Path,
    folder: Path,
    parser: Parser,
    temperatures: Temperatures,
    *,
    before: Calibration,
    after: Calibration,
) -> None:
    """Write the parser, what temperatures its scores were divided by and how reliable it was and is.

    What tells of a training run is copied from where the parser came from, so that it can be packed.
    """
    parser.save(folder)
    for name in (RECIPE, JOURNAL):
        if (Path(source) / name).is_file() and Path(source).resolve() != folder.resolve():
            write_file(folder / name, (Path(source) / name).read_bytes())
    record = {"temperatures": temperatures._asdict(), "before": before.as_dict(), "after": after.as_dict()}
    write_file(folder / RECORD, json.dumps(record, indent=1).encode())
