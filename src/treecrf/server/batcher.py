"""Dynamic batching: a thread parses the sentences of concurrent requests together, and shares its time fairly.

A batch takes sentences from a fair queue until it has enough work. So a large request delays a small one by at most
one batch. Sentences that alone have more work than a batch should have are parsed by a second thread, one at a time;
the sentences of all other requests do not wait for them.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from treecrf.server.lane import BatchEntry, Job, Lane
from treecrf.server.limits import Limits
from treecrf.server.metrics import Metrics
from treecrf.server.parse_batch import ParseOptions, SentenceInput, SentenceResult

log = logging.getLogger(__name__)

# options, sentences, and a function that says whether nobody waits for the results any more
ParseSentences = Callable[[ParseOptions, Sequence[SentenceInput], Callable[[], bool]], Sequence[SentenceResult]]

_LARGE_WORK = 1000  # a sentence with more work is parsed in the second thread
_SMOOTHING = 0.2  # weight of the last batch in the moving average of the seconds per unit of work
_SMALL_SHARE = 0.01  # a job that takes this share of the queue or less is small,
_RESERVE_SHARE = 0.1  # and may exceed the limits of the queue by this share, so that large jobs do not lock it out
_STOP_SECONDS = 1.0  # time that a stopped thread has to end; only a search for alternatives can be interrupted


class QueueFullError(Exception):
    """The queue cannot hold a job; `retry_seconds` estimates when it can."""

    def __init__(self, retry_seconds: int) -> None:
        super().__init__(f"the queue is full; try again in {retry_seconds} s")
        self.retry_seconds = retry_seconds


class StoppedError(Exception):
    """The batcher was stopped before a job was complete."""


class Batcher:
    """Queues jobs, and parses them in two threads: one for batches, and one for sentences with much work."""

    def __init__(self, parse_sentences: ParseSentences, limits: Limits, metrics: Metrics) -> None:
        self._parse_sentences = parse_sentences
        self._limits = limits
        self._metrics = metrics
        self._jobs: set[Job] = set()  # whose results are not complete
        self._queued_sentences = 0
        self._queued_work = 0.0
        self._seconds_per_work = 0.001  # a moving average
        self._is_stopped = False
        self._condition = threading.Condition()
        self._batch_lane = Lane(
            "treecrf-parser",
            self._condition,
            self._run_batch,
            batch_work=limits.batch_words,
            wait_seconds=limits.wait_seconds,
        )
        self._large_lane = Lane("treecrf-large", self._condition, self._run_batch, batch_work=1, wait_seconds=0)
        self._lanes = (self._batch_lane, self._large_lane)

    def start(self) -> None:
        """Starts the threads."""
        for lane in self._lanes:
            lane.thread.start()

    @property
    def is_running(self) -> bool:
        """Whether a thread has not ended."""
        return any(lane.thread.is_alive() for lane in self._lanes)

    def close(self) -> None:
        """Parses the queued jobs, then ends the threads. After `stop`, a thread that still parses is left behind."""
        with self._condition:
            for lane in self._lanes:
                lane.close()
            self._condition.notify_all()
        for lane in self._lanes:
            while lane.thread.is_alive() and not self._is_stopped:
                lane.thread.join(0.1)
            lane.thread.join(_STOP_SECONDS)

    def stop(self) -> None:
        """Fails all jobs that are not complete; further jobs fail as well."""
        with self._condition:
            self._is_stopped = True
            jobs, self._jobs = self._jobs, set()
        for job in jobs:
            job.loop.call_soon_threadsafe(job.fail, StoppedError())

    async def run(self, job: Job) -> list[SentenceResult]:
        """Queues a job and returns its results; cancellation removes the job from the queue."""
        if not job.sentences:
            return []
        with self._condition:
            if self._is_stopped:
                raise StoppedError
            self._check_queue(job)
            entries = [BatchEntry(job, index) for index in range(len(job.sentences))]
            self._batch_lane.push(job, [entry for entry in entries if entry.work <= _LARGE_WORK])
            self._large_lane.push(job, [entry for entry in entries if entry.work > _LARGE_WORK])
            self._jobs.add(job)
            self._change_queue_size(len(entries), sum(job.work))
            self._condition.notify_all()
        try:
            return await job.future
        finally:
            self._remove(job)

    def _check_queue(self, job: Job) -> None:
        sizes = (
            (len(job.sentences), self._queued_sentences, self._limits.queue),
            (sum(job.work), self._queued_work, self._limits.queue_work),
        )
        is_small = all(size <= _SMALL_SHARE * limit for size, _, limit in sizes)
        reserve = _RESERVE_SHARE if is_small else 0.0
        if any(queued + size > limit * (1 + reserve) for size, queued, limit in sizes):
            raise QueueFullError(min(60, math.ceil(self._queued_work * self._seconds_per_work) or 1))

    def _remove(self, job: Job) -> None:
        with self._condition:
            self._jobs.discard(job)
            dropped = [entry for lane in self._lanes for entry in lane.remove(job)]
            self._change_queue_size(-len(dropped), -sum(entry.work for entry in dropped))
            self._metrics.dropped.inc(len(dropped))

    def _change_queue_size(self, sentences: int, work: float) -> None:
        self._queued_sentences += sentences
        self._queued_work = self._queued_work + work if self._queued_sentences else 0.0  # no rounding errors remain
        self._metrics.queue.set(self._queued_sentences)
        self._metrics.queue_work.set(self._queued_work)

    def _is_abandoned(self, jobs: set[Job]) -> bool:
        """Whether nobody waits for the results of any of these jobs."""
        return jobs.isdisjoint(self._jobs)

    def _run_batch(self, batch: list[BatchEntry]) -> None:
        work = sum(entry.work for entry in batch)
        with self._condition:
            self._change_queue_size(-len(batch), -work)
        start = time.perf_counter()
        self._parse(batch)
        seconds = time.perf_counter() - start
        jobs = {entry.job for entry in batch}
        self._seconds_per_work += _SMOOTHING * (seconds / work - self._seconds_per_work)
        self._metrics.record_batch(len(batch), len(jobs), seconds)
        if not self._is_stopped:
            _resolve_complete(jobs)

    def _parse(self, batch: list[BatchEntry]) -> None:
        """Parses a batch in groups with the same options, with or without tags, and with or without constraints."""
        groups: dict[tuple[ParseOptions, bool, bool], list[BatchEntry]] = {}
        for entry in batch:
            key = (entry.job.options, entry.sentence.tags is None, entry.sentence.constraints is None)
            groups.setdefault(key, []).append(entry)
        for (options, *_), group in groups.items():
            jobs = {entry.job for entry in group}
            try:
                results = self._parse_sentences(
                    options, [entry.sentence for entry in group], partial(self._is_abandoned, jobs)
                )
            except Exception as error:  # an error in one group must not stop the thread
                log.exception("batch failed")
                results = [error] * len(group)
            for entry, result in zip(group, results, strict=True):
                entry.job.results[entry.index] = result


def _resolve_complete(jobs: Iterable[Job]) -> None:
    """Resolves the jobs that have all their results, on the event loop."""
    complete_jobs = [job for job in jobs if len(job.results) == len(job.sentences)]
    if complete_jobs:
        complete_jobs[0].loop.call_soon_threadsafe(_resolve, complete_jobs)


def _resolve(jobs: list[Job]) -> None:
    for job in jobs:
        job.resolve()
