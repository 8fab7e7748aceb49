"""The record of a training run: one JSON object a line, written as things happen.

Every record says its `event` ("start", "steps", "epoch" or "end") and the optimizer's `step` at that moment.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treecrf.atomic_io import write_file

NAME = "metrics.jsonl"


class Journal:
    """A file that records are added to."""

    def __init__(self, path: Path, *, keep: int = 0) -> None:
        """Open the journal with its first `keep` records; what came after them will be recorded again."""
        self._path = path
        kept = read_metrics(path)[:keep] if keep else []
        self.length = len(kept)
        write_file(path, "".join(map(_line, kept)).encode())

    def write(self, record: Mapping[str, Any]) -> None:
        """Add a record."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line(record))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error  # a full disk does not say where
        self.length += 1


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The records of a run, in order; a last line that a crash cut short is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise ValueError(f"{path} is no journal of a training run: {error}") from None
