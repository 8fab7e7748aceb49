"""A lane: a fair queue of sentences, and the thread that parses them in batches."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treecrf.server.fair_queue import FairQueue
from treecrf.server.parse_batch import ParseOptions, SentenceInput, SentenceResult
from treecrf.server.work import sentence_work

_BATCH_SECONDS = 0.25  # a batch has no more work than takes about this long: other requests wait for its end
_MIN_BATCH_WORK = 100  # also if it takes longer; it may be that the machine was busy
_DECAY = 0.8  # weight of earlier batches in the estimate of how long work takes


class Job:
    """The sentences of one request, their estimated work, and their results."""

    def __init__(self, options: ParseOptions, sentences: Sequence[SentenceInput], *, client: str = "") -> None:
        self.options = options
        self.sentences = sentences
        self.client = client
        k, marginals = options.formatter.kbest, options.marginals
        self.work = [sentence_work(len(sentence.words), k=k, marginals=marginals) for sentence in sentences]
        self.results: dict[int, SentenceResult] = {}
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[SentenceResult]] = self.loop.create_future()

    def resolve(self) -> None:
        """Sets the result of the future, unless it was cancelled."""
        if not self.future.done():
            self.future.set_result([self.results[index] for index in range(len(self.sentences))])

    def fail(self, error: Exception) -> None:
        """Sets the exception of the future, unless it is done."""
        if not self.future.done():
            self.future.set_exception(error)


@dataclass(frozen=True)
class BatchEntry:
    """One sentence of a batch."""

    job: Job
    index: int

    @property
    def sentence(self) -> SentenceInput:
        return self.job.sentences[self.index]

    @property
    def work(self) -> float:
        return self.job.work[self.index]


class Lane:
    """A queue and its thread. The caller holds the lock of `condition` when it calls `push` or `remove`.

    A batch starts as soon as the thread is free. Under concurrent load it first waits `wait_seconds`, or until as many
    jobs are queued as the last batch had: clients tend to send their next requests at the same time.
    """

    def __init__(
        self,
        name: str,
        condition: threading.Condition,
        run_batch: Callable[[list[BatchEntry]], None],
        *,
        batch_work: float,
        wait_seconds: float,
    ) -> None:
        self._condition = condition
        self._run_batch = run_batch
        self._batch_work = batch_work
        self._wait_seconds = wait_seconds
        self._queue: FairQueue[BatchEntry] = FairQueue()
        self._job_entries: Counter[Job] = Counter()  # queued sentences by job
        self._last_batch_jobs = 0
        self._past_seconds = self._past_work = 0.0  # of earlier batches, the last ones with most weight
        self._is_closed = False
        self.thread = threading.Thread(target=self._run_thread, name=name, daemon=True)

    def push(self, job: Job, entries: Sequence[BatchEntry]) -> None:
        """Queues sentences of a job."""
        if entries:
            self._queue.push(job.client, [(entry, entry.work) for entry in entries])
            self._job_entries[job] = len(entries)

    def remove(self, job: Job) -> list[BatchEntry]:
        """Removes the sentences of a job that are in no batch yet, and returns them."""
        if not self._job_entries.pop(job, 0):
            return []
        return self._queue.remove(job.client, lambda entry: entry.job is job)

    def close(self) -> None:
        """Lets the thread end once the queue is empty."""
        self._is_closed = True

    def _run_thread(self) -> None:
        while batch := self._next_batch():
            start = time.perf_counter()
            self._run_batch(batch)
            self._past_seconds = _DECAY * self._past_seconds + time.perf_counter() - start
            self._past_work = _DECAY * self._past_work + sum(entry.work for entry in batch)
            self._last_batch_jobs = len({entry.job for entry in batch})
            del batch  # the jobs of a large request are not kept until the next one

    def _next_batch(self) -> list[BatchEntry]:
        """Waits for the next batch; an empty batch means that the lane is closed and the queue is empty."""
        with self._condition:
            while True:
                self._condition.wait_for(lambda: self._queue or self._is_closed)
                if len(self._job_entries) < self._last_batch_jobs and not self._is_closed:
                    self._condition.wait_for(
                        lambda: len(self._job_entries) >= self._last_batch_jobs, self._wait_seconds
                    )
                if self._queue or self._is_closed:  # every client may have disconnected during the wait
                    return self._take_batch()

    def _take_batch(self) -> list[BatchEntry]:
        batch: list[BatchEntry] = []
        batch_work, limit = 0.0, self._batch_work
        if self._past_seconds:
            limit = min(limit, max(_MIN_BATCH_WORK, _BATCH_SECONDS * self._past_work / self._past_seconds))
        while self._queue and batch_work < limit:
            entry = self._queue.pop()
            batch.append(entry)
            batch_work += entry.work
            self._job_entries[entry.job] -= 1
            if not self._job_entries[entry.job]:
                del self._job_entries[entry.job]
        return batch
