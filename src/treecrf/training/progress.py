"""Progress reports of a training run, for a callback of the caller."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from treecrf.training.checkpoint import TrainState


class Progress(NamedTuple):
    """The progress of a run after a step, or at the event of a metrics record."""

    epoch: int  # from 1
    batch: int
    batches: int  # of this epoch
    loss: float  # mean over the steps between the last two readings
    best_f: float
    sentences_per_second: float
    seconds_left: float  # if dev F does not improve again
    record: Mapping[str, Any] | None = None  # the metrics record, if one was just written


ProgressCallback = Callable[[Progress], None]


class ProgressReporter:
    """Calls a callback with the progress of a run, and estimates the remaining time."""

    def __init__(self, callback: ProgressCallback | None, *, first_epoch: int) -> None:
        self._callback = callback
        self._first_epoch = first_epoch  # epochs finished before this process started
        self._started = time.monotonic()
        self.batches = 0
        self.recent_loss = math.nan

    def report_progress(self, state: TrainState, *, last_epoch: int, record: Mapping[str, Any] | None = None) -> None:
        """Calls the callback, if there is one."""
        if self._callback is None:
            return
        epochs_done = state.epoch - self._first_epoch + state.batch / max(1, self.batches)
        epochs_left = last_epoch - self._first_epoch - epochs_done
        seconds = time.monotonic() - self._started
        self._callback(
            Progress(
                epoch=min(state.epoch + 1, last_epoch),
                batch=state.batch,
                batches=self.batches,
                loss=self.recent_loss,
                best_f=state.best_f,
                sentences_per_second=state.sentences / state.seconds if state.seconds else math.nan,
                seconds_left=epochs_left / epochs_done * seconds if epochs_done else math.nan,
                record=record,
            )
        )
