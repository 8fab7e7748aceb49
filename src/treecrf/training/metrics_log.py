"""Progress of a training run: reports for a callback, and the metrics log, one JSON object per line.

Every record has an `event` ("start", "steps", "epoch" or "end") and the number of the optimizer `step`.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from treecrf.files import write_file

NAME = "metrics.jsonl"


class Progress(NamedTuple):
    """The progress of a run after a step, or at the event of a metrics record."""

    epoch: int  # from 1
    batch: int
    batches: int  # in this epoch
    loss: float  # mean over the steps between the last two readings
    best_f: float
    sentences_per_second: float
    seconds_left: float  # if dev F does not improve again
    record: Mapping[str, Any] | None = None  # the metrics record, if one was just written


ProgressCallback = Callable[[Progress], None]


class MetricsLog:
    """A JSON Lines file to which records are appended."""

    def __init__(self, path: Path, *, keep: int = 0) -> None:
        """Opens the log and keeps its first `keep` records; a resumed run writes the later ones again."""
        self._path = path
        records = read_metrics(path)[:keep] if keep else []
        self.length = len(records)
        write_file(path, "".join(map(_to_line, records)).encode())

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends a record."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_to_line(record))
        except OSError as error:  # the error of a full disk does not name the file
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        self.length += 1


def _to_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Returns the records of a run in order, without a last line that a crash cut short."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise ValueError(f"{path} is not the metrics log of a training run: {error}") from None
