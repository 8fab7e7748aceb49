"""The driver and the workers of the Ray engine.

The driver starts workers, gives them shards and records the progress. A worker is a parser in its own process.
"""

import gc
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import ray

from treecrf.corpus.inputs import Line
from treecrf.corpus.manifest import FILE_NAME, Manifest
from treecrf.corpus.options import ClusterOptions, ParseOptions
from treecrf.corpus.output_record import InputStamp, model_digest
from treecrf.corpus.outputs import open_file
from treecrf.corpus.parse_files import LineParser
from treecrf.corpus.shards import Shard, ShardQueue, ShardReader
from treecrf.corpus.terminal import ProgressBar
from treecrf.files import rename_file
from treecrf.threads import set_num_threads

PARTIAL_FOLDER = ".parts"  # has the shards that are being written
_PROGRESS_SECONDS = 10.0  # between two progress messages

Report = Callable[[str], object]


class WorkerResult(NamedTuple):
    """The result of parsing a shard, or of starting a worker."""

    problem: str = ""
    is_final: bool = False  # another attempt would fail in the same way
    warnings: Sequence[str] = ()
    seconds: float = 0.0


class Worker:
    """Parses shards in its own process, on some machine of the cluster."""

    lines_done = 0  # lines of the current shard

    def load(
        self,
        options: ParseOptions,
        device: str,
        folder: Path,
        settings: Mapping[str, Any],
        inputs: Mapping[str, InputStamp],
        *,
        threads: int,
    ) -> WorkerResult:
        """Loads the parser. Another machine may not have the same problem."""
        try:
            if not (folder / FILE_NAME).exists():
                raise FileNotFoundError(f"{folder / FILE_NAME} is missing; all machines need to see the same files")
            if model_digest(options.model) != settings["model_sha256"]:
                raise ValueError(f"this machine has another version of the model {options.model}; install the same one")
            set_num_threads(threads)
            self.folder = folder
            self.inputs = inputs
            self.warnings: list[str] = []
            self.line_parser = LineParser(options.load_parser(device), options, self.warnings.append)
            self.reader = ShardReader(self.line_parser.fields, limit=options.max_line_bytes)
        except Exception as error:
            return WorkerResult(f"{_process_name()}: {type(error).__name__}: {error}")
        gc.freeze()  # repeated garbage collection over the loaded objects would take as long as parsing
        return WorkerResult()

    def parse(self, shard: Shard) -> WorkerResult:
        """Writes the output of a shard; the file appears when it is complete. Every worker writes the same bytes."""
        started = time.monotonic()
        self.warnings.clear()
        self.lines_done = 0
        target = self.folder / shard.output
        draft = self.folder / PARTIAL_FOLDER / f"{_process_name()}-{uuid4().hex[:8]}" / target.name
        try:
            with open_file(draft, None, self.line_parser.output_file) as sink:
                self.line_parser.write_header(sink)
                lines = self._count(self.reader.lines(shard))
                # the driver asks for the progress: nothing is reported
                self.line_parser.write_trees(lines, sink, lambda *_: None, name=shard.source, first=shard.first + 1)
            self.inputs[shard.source].check_unchanged(shard.source)
            target.parent.mkdir(parents=True, exist_ok=True)
            rename_file(draft, target)
            shutil.rmtree(draft.parent, ignore_errors=True)
        except Exception as error:
            self.reader.close()
            return WorkerResult(f"{type(error).__name__}: {error}", isinstance(error, ValueError))
        return WorkerResult(warnings=list(self.warnings), seconds=round(time.monotonic() - started, 3))

    def progress(self) -> int:
        """The number of lines of the current shard that are parsed, or nearly so. Another thread parses meanwhile."""
        return self.lines_done

    def _count(self, lines: Iterator[Line]) -> Iterator[Line]:
        for line in lines:
            yield line
            self.lines_done += 1


def _process_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


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
