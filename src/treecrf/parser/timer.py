"""Timers: of single calls, of repeated runs, and of the parts of one run."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def time_call(call: Callable[[], object], device: str | None = None) -> float:
    """The seconds of one call; a GPU given as `device` completes its work before and after the call."""
    start = now(device)
    call()
    return now(device) - start


def time_runs(run: Callable[[], object], repeats: int) -> list[float]:
    """The seconds of a warm-up run and then of `repeats` runs."""
    return [time_call(run) for _ in range(repeats + 1)]


def median_seconds(run: Callable[[], object], repeats: int) -> float:
    """The median time of `repeats` runs after a warm-up run."""
    return statistics.median(time_runs(run, repeats)[1:])


def now(device: str | None = None) -> float:
    """The time in seconds, after a GPU given as `device` has completed its work."""
    if device is not None and device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()


class PartTimer:
    """Adds up the time of each part of a run. The device completes a part before the next part starts."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Adds the time of the `with` block to a part."""
        start = now(self.device)
        yield
        self.seconds[part] += now(self.device) - start
