"""Requests of many clients, parsed together by one thread.

Sentences wait in their requests, and each turn takes one of every request in a circle until a batch is full, so a long
request delays a short one by a batch at most. A turn begins as soon as the thread is free. Only while several requests
come at a time it waits some milliseconds for as many as came last time, for they tend to come back together.
"""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from treecrf.server.limits import Limits
from treecrf.server.metrics import Metrics
from treecrf.server.parse_batch import Answer, Item, Wish

log = logging.getLogger(__name__)

Parse = Callable[[Wish, Sequence[Item]], Sequence[Answer]]


class FullError(Exception):
    """There is no room for more sentences; the whole number of seconds after which there may be."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"try again in {seconds} s")
        self.seconds = seconds


class Job:
    """The sentences of one request, and their answers as they come."""

    def __init__(self, wish: Wish, items: Sequence[Item]) -> None:
        self.wish = wish
        self.items = items
        self.answers: dict[int, Answer] = {}
        self.taken = 0
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[Answer]] = self.loop.create_future()

    def resolve(self) -> None:
        """Hand out the answers, if anyone still waits for them."""
        if not self.future.done():
            self.future.set_result([self.answers[number] for number in range(len(self.items))])


class Batcher:
    """A queue of jobs, and the thread that works on it."""

    def __init__(self, parse: Parse, limits: Limits, metrics: Metrics) -> None:
        self._parse = parse
        self._limits = limits
        self._metrics = metrics
        self._jobs: deque[Job] = deque()
        self._waiting = 0  # sentences that no turn has taken yet
        self._company = 0  # how many requests the last turn answered
        self._pace = 0.01  # seconds for a sentence, of late
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="treecrf-parser", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def close(self) -> None:
        """Finish what waits, then stop."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    async def run(self, job: Job) -> list[Answer]:
        """The answers to a job's sentences; a caller that is cancelled takes what still waits with it."""
        if not job.items:
            return []
        with self._changed:
            if self._waiting + len(job.items) > self._limits.queue:
                raise FullError(min(60, math.ceil(self._waiting * self._pace) or 1))
            self._jobs.append(job)
            self._count(len(job.items))
            self._changed.notify()
        try:
            return await job.future
        finally:
            self._drop(job)

    def _drop(self, job: Job) -> None:
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self._count(job.taken - len(job.items))
                self._metrics.dropped.inc(len(job.items) - job.taken)

    def _count(self, change: int) -> None:
        self._waiting += change
        self._metrics.queue.set(self._waiting)

    def _work(self) -> None:
        while turn := self._next_turn():
            began = time.perf_counter()
            self._answer(turn)
            seconds = time.perf_counter() - began
            jobs = {id(job): job for job, _ in turn}
            self._company = len(jobs)
            self._pace += 0.2 * (seconds / len(turn) - self._pace)
            self._metrics.record_batch(len(turn), len(jobs), seconds)
            self._deliver(jobs.values())

    def _next_turn(self) -> list[tuple[Job, int]]:
        """What is parsed next; nothing once the batcher is closed and all is done."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._jobs or self._is_closed)
                if len(self._jobs) < self._company and not self._is_closed:
                    self._changed.wait_for(lambda: len(self._jobs) >= self._company, self._limits.wait_seconds)
                if self._jobs or self._is_closed:  # those who waited may all have left meanwhile
                    return self._take()

    def _take(self) -> list[tuple[Job, int]]:
        turn: list[tuple[Job, int]] = []
        words = 0
        while self._jobs and words < self._limits.batch_words:
            job = self._jobs.popleft()
            turn.append((job, job.taken))
            words += len(job.items[job.taken].words)
            job.taken += 1
            if job.taken < len(job.items):
                self._jobs.append(job)
        self._count(-len(turn))
        return turn

    def _answer(self, turn: list[tuple[Job, int]]) -> None:
        groups: dict[tuple[Wish, bool, bool], list[tuple[Job, int]]] = {}
        for job, number in turn:
            item = job.items[number]
            groups.setdefault((job.wish, item.tags is None, item.constraints is None), []).append((job, number))
        for (wish, *_), members in groups.items():
            try:
                answers = self._parse(wish, [job.items[number] for job, number in members])
            except Exception as error:  # whatever it was, the requests of others must be answered
                log.exception("a batch failed")
                answers = [error] * len(members)
            for (job, number), answer in zip(members, answers, strict=True):
                job.answers[number] = answer

    @staticmethod
    def _deliver(jobs: Iterable[Job]) -> None:
        done = [job for job in jobs if len(job.answers) == len(job.items)]
        if done:
            done[0].loop.call_soon_threadsafe(_resolve, done)


def _resolve(jobs: list[Job]) -> None:
    for job in jobs:
        job.resolve()
