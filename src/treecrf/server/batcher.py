"""Dynamic batching: one thread parses the sentences of concurrent requests together.

A batch takes one sentence of each queued request in turn (round robin) until it is full. So a long request delays a
short one by at most one batch. A batch starts as soon as the thread is free. Under concurrent load it first waits a
few milliseconds, until as many requests are queued as the last batch had: clients tend to send their next requests at
the same time.
"""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from treecrf.server.limits import Limits
from treecrf.server.metrics import Metrics
from treecrf.server.parse_batch import ParseOptions, SentenceInput, SentenceResult

log = logging.getLogger(__name__)

ParseSentences = Callable[[ParseOptions, Sequence[SentenceInput]], Sequence[SentenceResult]]

_SMOOTHING = 0.2  # weight of the last batch in the moving average of the seconds per sentence


class QueueFullError(Exception):
    """The queue cannot hold a job; `retry_seconds` estimates when it can."""

    def __init__(self, retry_seconds: int) -> None:
        super().__init__(f"the queue is full; try again in {retry_seconds} s")
        self.retry_seconds = retry_seconds


class Job:
    """The sentences of one request, and their results."""

    def __init__(self, options: ParseOptions, sentences: Sequence[SentenceInput]) -> None:
        self.options = options
        self.sentences = sentences
        self.results: dict[int, SentenceResult] = {}
        self.next_index = 0  # of the first sentence that is in no batch yet
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[SentenceResult]] = self.loop.create_future()

    def resolve(self) -> None:
        """Sets the result of the future, unless it was cancelled."""
        if not self.future.done():
            self.future.set_result([self.results[index] for index in range(len(self.sentences))])


@dataclass(frozen=True)
class BatchEntry:
    """One sentence of a batch."""

    job: Job
    index: int

    @property
    def sentence(self) -> SentenceInput:
        return self.job.sentences[self.index]


class Batcher:
    """A queue of jobs, and the thread that parses them."""

    def __init__(self, parse_sentences: ParseSentences, limits: Limits, metrics: Metrics) -> None:
        self._parse_sentences = parse_sentences
        self._limits = limits
        self._metrics = metrics
        self._jobs: deque[Job] = deque()
        self._queued_sentences = 0
        self._last_batch_jobs = 0
        self._seconds_per_sentence = 0.01  # a moving average
        self._is_closed = False
        self._condition = threading.Condition()
        self._thread = threading.Thread(target=self._run_thread, name="treecrf-parser", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Parses the queued jobs, then stops the thread."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        self._thread.join()

    async def run(self, job: Job) -> list[SentenceResult]:
        """Queues a job and returns its results; cancellation removes the job from the queue."""
        if not job.sentences:
            return []
        with self._condition:
            if self._queued_sentences + len(job.sentences) > self._limits.queue:
                raise QueueFullError(min(60, math.ceil(self._queued_sentences * self._seconds_per_sentence) or 1))
            self._jobs.append(job)
            self._change_queue_size(len(job.sentences))
            self._condition.notify()
        try:
            return await job.future
        finally:
            self._remove(job)

    def _remove(self, job: Job) -> None:
        with self._condition:
            if job in self._jobs:
                self._jobs.remove(job)
                dropped_sentences = len(job.sentences) - job.next_index
                self._change_queue_size(-dropped_sentences)
                self._metrics.dropped.inc(dropped_sentences)

    def _change_queue_size(self, change: int) -> None:
        self._queued_sentences += change
        self._metrics.queue.set(self._queued_sentences)

    def _run_thread(self) -> None:
        while batch := self._next_batch():
            start = time.perf_counter()
            self._parse(batch)
            seconds = time.perf_counter() - start
            jobs = {id(entry.job): entry.job for entry in batch}
            self._last_batch_jobs = len(jobs)
            self._seconds_per_sentence += _SMOOTHING * (seconds / len(batch) - self._seconds_per_sentence)
            self._metrics.record_batch(len(batch), len(jobs), seconds)
            _resolve_complete(jobs.values())

    def _next_batch(self) -> list[BatchEntry]:
        """Waits for the next batch; an empty batch means that the batcher is closed and the queue is empty."""
        with self._condition:
            while True:
                self._condition.wait_for(lambda: self._jobs or self._is_closed)
                if len(self._jobs) < self._last_batch_jobs and not self._is_closed:
                    self._condition.wait_for(
                        lambda: len(self._jobs) >= self._last_batch_jobs, self._limits.wait_seconds
                    )
                if self._jobs or self._is_closed:  # every client may have disconnected during the wait
                    return self._take_batch()

    def _take_batch(self) -> list[BatchEntry]:
        batch: list[BatchEntry] = []
        batch_words = 0
        while self._jobs and batch_words < self._limits.batch_words:
            job = self._jobs.popleft()
            entry = BatchEntry(job, job.next_index)
            batch.append(entry)
            batch_words += len(entry.sentence.words)
            job.next_index += 1
            if job.next_index < len(job.sentences):
                self._jobs.append(job)
        self._change_queue_size(-len(batch))
        return batch

    def _parse(self, batch: list[BatchEntry]) -> None:
        """Parses a batch in groups with the same options, with or without tags, and with or without constraints."""
        groups: dict[tuple[ParseOptions, bool, bool], list[BatchEntry]] = {}
        for entry in batch:
            key = (entry.job.options, entry.sentence.tags is None, entry.sentence.constraints is None)
            groups.setdefault(key, []).append(entry)
        for (options, *_), group in groups.items():
            try:
                results = self._parse_sentences(options, [entry.sentence for entry in group])
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
