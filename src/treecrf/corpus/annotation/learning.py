"""Learning while people annotate: models adapted to the finished sentences, each in a process of its own.

The process is `treecrf train --from MODEL FOLDER -o FOLDER/models/N`, where N is the number of finished sentences. A
model counts once its record is written, so a killed process leaves nothing that is offered, and a restarted server
offers what an earlier one has finished.
"""

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from treecrf.files import isolated_python
from treecrf.parser.models.model_card import ADAPTATION_JSON

EVERY = 10  # finished sentences between two models
_PROGRAM = "from treecrf.cli import main; main()"
MODELS = "models"  # the folder of the models in the annotation's folder


class Offer(NamedTuple):
    """A model that is better on sentences that it has not seen, and by how much."""

    model: str
    folder: Path
    verdict: str


class Learner:
    """Starts a process after every ten finished sentences, one at a time. Threads may share a learner."""

    def __init__(self, folder: Path, model: str, finished: int = 0) -> None:
        self._folder = folder
        self._model = model
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()
        runs = [int(path.name) for path in self._runs() if _record(path)]
        self._learned = max(runs, default=0)  # finished sentences that the last process has read
        self.update(finished)

    def update(self, finished: int) -> None:
        """Starts a process if enough more sentences are finished and no process is running."""
        with self._lock:
            if finished < self._learned + EVERY or self.is_running:
                return
            self._learned = finished
            self._remove_old_runs()
            target = self._folder / MODELS / f"{finished:06}"
            shutil.rmtree(target, ignore_errors=True)  # left by a process that was killed
            target.parent.mkdir(exist_ok=True)
            command = [*isolated_python(_PROGRAM), "train", "--from", self._model, str(self._folder)]
            low_priority = ["nice", "-n", "10"] if shutil.which("nice") else []
            with (target.parent / "train.log").open("wb") as log:
                self._process = subprocess.Popen(
                    [*low_priority, *command, "-o", str(target)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def offer(self) -> Offer | None:
        """The newest model, if it is better than the first one."""
        for path in reversed(self._runs()):
            if (record := _record(path)) is not None:
                is_kept, verdict = record
                return Offer(path.name, path, verdict) if is_kept else None
        return None

    def close(self) -> None:
        """Stops the process; the next start of the server begins it again."""
        if self._process is not None and self.is_running:
            self._process.terminate()
            self._process.wait()

    def _runs(self) -> list[Path]:
        return sorted(path for path in (self._folder / MODELS).glob("*") if path.name.isdigit())

    def _remove_old_runs(self) -> None:
        """Keeps the newest model; whoever uses an older one has it in memory."""
        for path in [path for path in self._runs() if _record(path)][:-1]:
            shutil.rmtree(path, ignore_errors=True)


def _record(folder: Path) -> tuple[bool, str] | None:
    """Whether a finished model was kept, and why; None while it is not finished."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads((folder / ADAPTATION_JSON).read_bytes())
        return bool(record["kept"]), str(record["verdict"])
    return None
