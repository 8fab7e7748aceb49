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
_CHECK_STEPS = 3  # with one thread, before a trial
_FREE_SHARE = 0.85  # of the time in which one thread runs, if there is a processor for it
_MIN_SPEEDUP = 1.1  # of more threads


class ThreadTuner:
    """Sets the number of torch's threads before each step, by the speed of earlier steps.

    If one thread has to wait for a processor, more threads are not tried. Otherwise, a trial follows: consecutive steps
    have different numbers of threads, so that the sentences of each are of all lengths. A number with less than half of
    the best speed is not tried again in the same trial. `counts` starts with 1, unless it has one number only.
    """

    def __init__(
        self,
        counts: Sequence[int],
        *,
        set_threads: Callable[[int], None] = torch.set_num_threads,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._counts = counts
        self._set_threads = set_threads
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._choice = counts[0]
        self._start_check()

    @contextmanager
    def step(self, words: int) -> Iterator[None]:
        """Sets the number of threads for a step with so many words, and measures the step."""
        if len(self._counts) == 1:
            yield
            return
        count = self._next_count
        self._set_threads(count)
        started, cpu_started = self._clock(), self._cpu_clock()
        yield
        self._count_step(count, words, self._clock() - started, self._cpu_clock() - cpu_started)

    @property
    def _next_count(self) -> int:
        if self._check_steps_left:
            return 1
        return self._queue[0] if self._queue else self._choice

    def _start_check(self) -> None:
        self._check_steps_left = _CHECK_STEPS
        self._check_seconds = self._check_cpu_seconds = 0.0
        self._queue: list[int] = []  # the numbers of threads of the next steps of a trial
        self._seconds_left = _PERIOD_SECONDS

    def _count_step(self, count: int, words: int, seconds: float, cpu_seconds: float) -> None:
        if self._check_steps_left:
            self._check_steps_left -= 1
            self._check_seconds += seconds
            self._check_cpu_seconds += cpu_seconds
            if not self._check_steps_left:
                self._end_check()
        elif self._queue:
            self._queue.pop(0)
            self._words[count] += words
            self._seconds[count] += seconds
            if not self._queue:
                self._end_round()
        else:
            self._seconds_left -= seconds
            if self._seconds_left <= 0:
                self._start_check()

    def _end_check(self) -> None:
        if self._check_cpu_seconds < _FREE_SHARE * self._check_seconds:
            self._choice = 1
            return
        self._words: Counter[int] = Counter()
        self._seconds = dict.fromkeys(self._counts, 0.0)
        self._rounds_left = _TRIAL_ROUNDS
        self._queue = list(self._counts)

    def _end_round(self) -> None:
        speeds = {count: self._words[count] / seconds for count, seconds in self._seconds.items()}
        best = max(speeds.values())
        self._choice = next(count for count in self._counts if speeds[count] * _MIN_SPEEDUP >= best)
        self._rounds_left -= 1
        fast = [count for count, speed in speeds.items() if 2 * speed >= best]
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
