"""Time: of whole runs, and of the parts of one."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch


def seconds(run: Callable[[], object], repeats: int) -> list[float]:
    """Of the first run and of those after it."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return times


class Clock:
    """Seconds by part; the device finishes a part before its time is taken."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def time(self, part: str) -> Iterator[None]:
        """Add what is done here to a part."""
        started = self.now()
        yield
        self.seconds[part] += self.now() - started

    def now(self) -> float:
        """Seconds, once the device has nothing left to do."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()
