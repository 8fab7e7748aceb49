"""Progress reports of a training run, for a callback of the caller."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


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
