"""The queue in which the sentences of all requests wait for the parser, so that clients share it fairly.

`Batcher` parses the sentences of concurrent requests together. A batch takes sentences until it has enough work, so a
large request delays a small one by at most one batch. Sentences that alone have more work than a batch are parsed by a
second thread, one at a time; all other sentences do not wait for them.
"""

import asyncio
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, repeat
from typing import NamedTuple

from treecrf.server import limits
from treecrf.server.errors import ApiError
from treecrf.server.fair_queue import FairQueue
from treecrf.server.monitoring import Metrics
from treecrf.server.request_parsing import RequestOptions, SentenceInput

log = logging.getLogger(__name__)

SentenceResult = str | Exception  # the parsed sentence in the request's format, or an error
# options, sentences, and a function that returns true if nobody waits for the results any more
ParseSentences = Callable[[RequestOptions, Sequence[SentenceInput], Callable[[], bool]], Sequence[SentenceResult]]

_DECAY = 0.8  # weight of earlier batches in the estimate of the seconds per unit of work
_SECONDS_PER_WORK = 0.001  # the estimate before the first batch


class Job:
    """The sentences of one request, their estimated work, and their results."""

    def __init__(self, options: RequestOptions, sentences: Sequence[SentenceInput], *, client: str = "") -> None:
        self.options = options
        self.sentences = sentences
        self.client = client
        self.work = [options.work(sentence) for sentence in sentences]
        self.results: dict[int, SentenceResult] = {}
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[SentenceResult]] = self.loop.create_future()

    def resolve(self, error: Exception | None = None) -> None:
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result([self.results[index] for index in range(len(self.sentences))])


class QueuedSentence(NamedTuple):
    job: Job
    number: int
    sentence: SentenceInput
    work: float


Batch = list[QueuedSentence]


class _Lane:
    """A queue of sentences for one thread. The lock of `condition` guards the queue.

    A batch starts as soon as the thread is free. Under concurrent load it first waits `wait_seconds`, or until as many
    jobs are queued as the last batch had: clients tend to send their next requests at the same time.
    """

    def __init__(self, condition: threading.Condition, *, batch_work: float, wait_seconds: float) -> None:
        self.queue: FairQueue[QueuedSentence] = FairQueue()
        self.is_closed = False
        self.past_seconds = self.past_work = 0.0  # sums over earlier batches, the last ones with most weight
        self._condition = condition
        self._batch_work = batch_work
        self._wait_seconds = wait_seconds
        self._job_sentences: Counter[Job] = Counter()  # queued sentences by job
        self._last_batch_jobs = 0

    def push(self, job: Job, sentences: Batch) -> None:
        if sentences:
            self.queue.push(job.client, [(sentence, sentence.work) for sentence in sentences])
            self._job_sentences[job] = len(sentences)

    def remove(self, job: Job) -> int:
        """Removes the sentences of a job that are in no batch yet, and returns their number."""
        if not self._job_sentences.pop(job, 0):
            return 0
        return len(self.queue.remove(job.client, lambda queued: queued.job is job))

    def record(self, batch: Batch, jobs: set[Job], seconds: float) -> None:
        self.past_seconds = _DECAY * self.past_seconds + seconds
        self.past_work = _DECAY * self.past_work + sum(queued.work for queued in batch)
        self._last_batch_jobs = len(jobs)

    def next_batch(self) -> Batch:
        """Waits for the next batch; an empty batch means that the lane is closed and the queue is empty."""
        with self._condition:
            while True:
                self._condition.wait_for(lambda: self.queue or self.is_closed)
                if not self._has_enough_jobs() and not self.is_closed:
                    self._condition.wait_for(self._has_enough_jobs, self._wait_seconds)
                if self.queue or self.is_closed:  # every client may have disconnected during the wait
                    return self._take_batch()

    def _has_enough_jobs(self) -> bool:
        return len(self._job_sentences) >= self._last_batch_jobs

    def _take_batch(self) -> Batch:
        batch: Batch = []
        batch_work, limit = 0.0, self._batch_work
        if self.past_seconds:
            limit = min(limit, max(limits.MIN_BATCH_WORK, limits.BATCH_SECONDS * self.past_work / self.past_seconds))
        while self.queue and batch_work < limit:
            batch.append(self.queue.pop())
            batch_work += batch[-1].work
        self._job_sentences -= Counter(queued.job for queued in batch)
        return batch


class Batcher:
    """Queues jobs, and parses them in two threads: one for batches, and one for sentences with much work."""

    def __init__(self, parse_sentences: ParseSentences, settings: limits.Limits, metrics: Metrics) -> None:
        self._parse_sentences = parse_sentences
        self._limits = settings
        self._metrics = metrics
        self._jobs: set[Job] = set()  # jobs without complete results
        self._is_stopped = False
        self._condition = threading.Condition()
        self._batch_lane = _Lane(self._condition, batch_work=settings.batch_words, wait_seconds=settings.wait_seconds)
        self._large_lane = _Lane(self._condition, batch_work=1, wait_seconds=0)
        self._threads = {
            lane: threading.Thread(target=self._run_lane, args=(lane,), name=name, daemon=True)
            for lane, name in ((self._batch_lane, "treecrf-parser"), (self._large_lane, "treecrf-large"))
        }
        metrics.queue.set_function(self._queued_sentences)
        metrics.queue_work.set_function(self._queued_work)

    def start(self) -> None:
        for thread in self._threads.values():
            thread.start()

    @property
    def is_running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads.values())

    def close(self) -> None:
        """Parses the queued jobs, then ends the threads. After `stop`, a thread that still parses is left behind."""
        with self._condition:
            for lane in self._threads:
                lane.is_closed = True
            self._condition.notify_all()
        for thread in self._threads.values():
            while thread.is_alive() and not self._is_stopped:
                thread.join(0.1)
            thread.join(limits.STOP_SECONDS)

    def stop(self) -> None:
        """Fails all jobs that are not complete; further jobs fail as well."""
        with self._condition:
            self._is_stopped = True
            jobs = list(self._jobs)
            self._jobs.clear()
        for job in jobs:
            job.loop.call_soon_threadsafe(job.resolve, _stopped_error())

    async def run(self, job: Job) -> list[SentenceResult]:
        """Queues a job and returns its results; cancellation removes the job from the queue."""
        if not job.sentences:
            return []
        sentences = list(map(QueuedSentence, repeat(job), count(), job.sentences, job.work))
        with self._condition:
            if self._is_stopped:
                raise _stopped_error()
            self._check_queue(job)
            self._batch_lane.push(job, [sentence for sentence in sentences if sentence.work <= limits.LARGE_WORK])
            self._large_lane.push(job, [sentence for sentence in sentences if sentence.work > limits.LARGE_WORK])
            self._jobs.add(job)
            self._condition.notify_all()
        try:
            return await job.future
        finally:
            with self._condition:
                self._jobs.discard(job)
                self._metrics.dropped.inc(sum(lane.remove(job) for lane in self._threads))

    def _queued_sentences(self) -> int:
        with self._condition:
            return sum(len(lane.queue) for lane in self._threads)

    def _queued_work(self) -> float:
        with self._condition:
            return sum(lane.queue.cost for lane in self._threads)

    def _check_queue(self, job: Job) -> None:
        """Raises an error with an estimate of when the queue can hold the job, if it cannot hold it now."""
        queued_work = self._queued_work()
        sizes = (
            (len(job.sentences), self._queued_sentences(), self._limits.queue),
            (sum(job.work), queued_work, self._limits.queue_work),
        )
        reserve = limits.RESERVE_SHARE if all(size <= limits.SMALL_SHARE * limit for size, _, limit in sizes) else 0.0
        if any(queued + size > limit * (1 + reserve) for size, queued, limit in sizes):
            past_work = sum(lane.past_work for lane in self._threads)
            past_seconds = sum(lane.past_seconds for lane in self._threads)
            seconds_per_work = past_seconds / past_work if past_work else _SECONDS_PER_WORK
            seconds = min(60, math.ceil(queued_work * seconds_per_work) or 1)
            message = f"too many sentences are queued; try again in {seconds} s"
            raise ApiError(503, message, {"retry-after": str(seconds)})

    def _run_lane(self, lane: _Lane) -> None:
        while batch := lane.next_batch():
            start = time.perf_counter()
            self._parse(batch)
            seconds = time.perf_counter() - start
            jobs = {queued.job for queued in batch}
            lane.record(batch, jobs, seconds)
            self._metrics.record_batch(len(batch), len(jobs), seconds)
            complete_jobs = [job for job in jobs if len(job.results) == len(job.sentences)]
            if complete_jobs and not self._is_stopped:
                complete_jobs[0].loop.call_soon_threadsafe(_resolve, complete_jobs)
            del batch, jobs, complete_jobs  # a large request is not kept until the next one

    def _parse(self, batch: Batch) -> None:
        """Parses a batch in groups with the same options, with or without tags, and with or without constraints."""
        groups: dict[tuple[RequestOptions, bool, bool], Batch] = {}
        for queued in batch:
            key = (queued.job.options, queued.sentence.tags is None, queued.sentence.constraints is None)
            groups.setdefault(key, []).append(queued)
        for (options, *_), group in groups.items():
            is_abandoned = partial({queued.job for queued in group}.isdisjoint, self._jobs)
            try:
                results = self._parse_sentences(options, [queued.sentence for queued in group], is_abandoned)
            except Exception as error:  # an error in one group must not stop the thread
                log.exception("batch failed")
                results = [error] * len(group)
            for queued, result in zip(group, results, strict=True):
                queued.job.results[queued.number] = result


def _resolve(jobs: list[Job]) -> None:
    for job in jobs:
        job.resolve()


def _stopped_error() -> ApiError:
    message = "the server stopped before the response was complete; send the request again"
    return ApiError(503, message, {"retry-after": "1"})
