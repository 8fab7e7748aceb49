"""The driver of the Ray engine: starts workers, gives them shards, and records the progress."""

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import ray

from treecrf.corpus.manifest import Manifest
from treecrf.corpus.options import ClusterOptions, ParseOptions
from treecrf.corpus.progress import ProgressBar
from treecrf.corpus.shards import Shard, ShardQueue
from treecrf.corpus.worker import Worker, WorkerResult

_PROGRESS_SECONDS = 10.0  # between two progress messages

Report = Callable[[str], object]


@dataclass
class _Assignment:
    """A worker and its task: a shard, or None while it loads its parser."""

    worker: Any
    device: str
    source: str = ""  # the input of its last shard
    shard: Shard | None = None


@dataclass
class Driver:
    """Starts workers and gives them shards until every shard is done or has failed."""

    manifest: Manifest
    queue: ShardQueue
    options: ParseOptions
    cluster: ClusterOptions
    devices: Sequence[str]
    report: Report
    progress: ProgressBar
    assignments: dict[Any, _Assignment] = field(default_factory=dict)  # by the reference to their result
    idle: list[_Assignment] = field(default_factory=list)
    failed_starts: int = 0  # since the last worker that started
    shards_done: int = 0
    lines_done: int = 0  # lines of finished shards
    shard_lines_done: dict[str, int] = field(default_factory=dict)  # lines of shards in progress, by output
    progress_requests: dict[Any, str] = field(default_factory=dict)  # the output by the reference to the answer

    def run(self) -> None:
        """Returns when every shard is done or has failed."""
        last_report = time.monotonic()
        for device in self.devices:
            self._start_worker(device)
        while self.queue or any(assignment.shard for assignment in self.assignments.values()):
            results, _ = ray.wait(list(self.assignments), timeout=1.0)
            for result in results:
                self._on_result(result)
            self.manifest.save()
            self._update_progress()
            if time.monotonic() > last_report + _PROGRESS_SECONDS:
                last_report = time.monotonic()
                started = sum(bool(assignment.shard) for assignment in self.assignments.values())
                self.report(f"{self.shards_done:,} shards done, {started:,} in progress; {self.progress.text()}")

    def _update_progress(self) -> None:
        """Asks each worker how many lines of its shard are parsed; answers are read when they have come."""
        answers, _ = ray.wait(list(self.progress_requests), num_returns=len(self.progress_requests), timeout=0)
        for answer in answers:
            output = self.progress_requests.pop(answer)
            with suppress(ray.exceptions.RayError):  # the result of the shard says that its worker has died
                if output in self.shard_lines_done:
                    self.shard_lines_done[output] = ray.get(answer)
        for assignment in self.assignments.values():
            shard = assignment.shard
            if shard is not None and shard.output not in self.progress_requests.values():
                self.progress_requests[assignment.worker.progress.remote()] = shard.output
        lines = self.lines_done + sum(self.shard_lines_done.values())
        self.progress.set(lines, lines)

    def _start_worker(self, device: str) -> None:
        cpus, gpus = self.cluster.cpus_per_worker, self.cluster.gpus_per_worker if device == "cuda" else 0
        worker = ray.remote(Worker).options(num_cpus=cpus, num_gpus=gpus, max_restarts=0, max_concurrency=2).remote()
        folder, settings, inputs = self.manifest.folder, self.manifest.settings, self.manifest.inputs
        result = worker.load.remote(self.options, device, folder, settings, inputs, threads=cpus)
        self.assignments[result] = _Assignment(worker, device)

    def _on_result(self, reference: Any) -> None:
        assignment = self.assignments.pop(reference)
        try:
            result: WorkerResult = ray.get(reference)
            is_usable = not result.problem or result.is_final
        except ray.exceptions.RayError as error:
            result, is_usable = WorkerResult(f"the worker died: {summarize_error(error)}"), False
        if assignment.shard is None:
            self._count_start(result)
        else:
            self._record(assignment.shard, assignment.device, result)
        if is_usable:
            self.idle.append(_Assignment(assignment.worker, assignment.device, assignment.source))
        else:
            ray.kill(assignment.worker)  # its process may be damaged
            self._start_worker(assignment.device)
        while self.queue and self.idle:
            self._assign(self.idle.pop())

    def _assign(self, idle: _Assignment) -> None:
        shard = self.queue.take(idle.source)
        self.manifest.progress[shard.output].attempts += 1
        self.shard_lines_done[shard.output] = 0
        self.assignments[idle.worker.parse.remote(shard)] = _Assignment(idle.worker, idle.device, shard.source, shard)

    def _count_start(self, result: WorkerResult) -> None:
        self.failed_starts = self.failed_starts + 1 if result.problem else 0
        if self.failed_starts > 2 * len(self.devices):
            raise OSError(f"no worker can start; the last one failed with: {result.problem}")

    def _record(self, shard: Shard, device: str, result: WorkerResult) -> None:
        progress = self.manifest.progress[shard.output]
        self.shard_lines_done.pop(shard.output, None)
        if not result.problem:
            self.lines_done += shard.lines
            progress.state, progress.device, progress.seconds = "done", device, result.seconds
            progress.skipped = len(result.warnings)
            self.shards_done += 1
            for warning in result.warnings:
                self.report(warning)
            return
        progress.problems.append(result.problem)
        if result.is_final or progress.attempts > self.cluster.retries:
            progress.state = "failed"
            self.report(f"failed: {shard.output}: {result.problem}")
        else:
            self.queue.put_back(shard)
            self.report(f"to be retried: {shard.output}: {result.problem}")


def summarize_error(error: Exception) -> str:
    """The first line of a message from Ray, with the process and the address that the message names."""
    text = str(error)
    place = [match[0] for match in (re.search(rf"\b{name}: (\S+)", text) for name in ("pid", "ip")) if match]
    return text.partition("\n")[0] + (f" ({', '.join(place)})" if place else "")
