"""The number of threads of a training run on a CPU, chosen by measurement.

The threads of one operation wait for each other. If another job uses one of the processors, the thread on it delays all
others at every operation, and several threads can be many times slower than one. So the run measures its speed with
different numbers of threads, now and again, and continues with the fastest.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

_VARIABLES = ("OMP_NUM_THREADS", "TREECRF_NUM_THREADS")
_TRIAL_ROUNDS = 6  # steps with each number of threads
_PERIOD_SECONDS = 30.0  # of training between two trials


class ThreadTuner:
    """Sets the number of torch's threads before each step, by the speed of earlier steps.

    In a trial, consecutive steps have different numbers of threads, so that the sentences of each are of all lengths. A
    number with less than half of the best speed is not tried again in the same trial.
    """

    def __init__(
        self,
        counts: Sequence[int],
        *,
        set_threads: Callable[[int], None] = torch.set_num_threads,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counts = counts
        self._set_threads = set_threads
        self._clock = clock
        self._choice = counts[0]
        self._seconds_left = 0.0  # until the next trial
        self._start_trial()

    @contextmanager
    def step(self, words: int) -> Iterator[None]:
        """Sets the number of threads for a step with so many words, and measures the step."""
        if len(self._counts) == 1:
            yield
            return
        self._set_threads(self._queue[0] if self._queue else self._choice)
        started = self._clock()
        yield
        self._count_step(words, self._clock() - started)

    def _start_trial(self) -> None:
        self._words: Counter[int] = Counter()
        self._seconds = dict.fromkeys(self._counts, 0.0)
        self._rounds_left = _TRIAL_ROUNDS
        self._queue = list(self._counts)  # the numbers of threads of the next steps

    def _count_step(self, words: int, seconds: float) -> None:
        if self._queue:
            count = self._queue.pop(0)
            self._words[count] += words
            self._seconds[count] += seconds
            if not self._queue:
                self._end_round()
            return
        self._seconds_left -= seconds
        if self._seconds_left <= 0:
            self._start_trial()

    def _end_round(self) -> None:
        speeds = {count: self._words[count] / seconds for count, seconds in self._seconds.items()}
        self._choice = max(speeds, key=speeds.__getitem__)
        self._seconds_left = _PERIOD_SECONDS
        self._rounds_left -= 1
        fast = [count for count, speed in speeds.items() if speed >= speeds[self._choice] / 2]
        if self._rounds_left and len(fast) > 1:
            self._queue = fast


@contextmanager
def restored_threads() -> Iterator[None]:
    """Restores the number of torch's threads at the end of the context."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def thread_counts(*, device: str, world_size: int) -> list[int]:
    """The numbers of threads to choose from: one number if the user has chosen it, or if there is nothing to choose.

    The processes that `torchrun` starts have one thread each.
    """
    threads = torch.get_num_threads()
    is_chosen = any(os.environ.get(name) for name in _VARIABLES)
    if device != "cpu" or world_size > 1 or is_chosen:
        return [threads]
    return sorted({1, max(1, threads // 2), threads})
