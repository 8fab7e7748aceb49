"""Timers: of repeated runs, and of the parts of one run."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch


def time_runs(run: Callable[[], object], repeats: int) -> list[float]:
    """The seconds of a warm-up run and then of `repeats` runs."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def median_seconds(run: Callable[[], object], repeats: int) -> float:
    """The median time of `repeats` runs after a warm-up run."""
    return statistics.median(time_runs(run, repeats)[1:])


class PartTimer:
    """Adds up the time of each part of a run. The device completes a part before the next part starts."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Adds the time of the `with` block to a part."""
        start = self.now()
        yield
        self.seconds[part] += self.now() - start

    def now(self) -> float:
        """The time in seconds (synchronizes the device)."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()
