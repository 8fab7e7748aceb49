"""Parses shards on a Ray cluster, or on the cores and GPUs of this machine: `treecrf parse --engine ray`.

Each worker is an actor with a parser that writes whole shards. If a worker fails, the driver gives its shard to another
one. If the driver fails, the finished shards have their output files, and a later run continues with the others.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treecrf.bulk.inputs import STDIN
from treecrf.bulk.line_parser import LineOptions
from treecrf.bulk.manifest import FILE_NAME, Manifest, file_stamps
from treecrf.bulk.outputs import STDOUT, match_outputs
from treecrf.bulk.shards import SHARD_STEP, Shard, ShardQueue, cut_shards
from treecrf.bulk.worker import PARTIAL_FOLDER, Worker, WorkerResult, model_digest
from treecrf.parser.formats import SUFFIXES

try:
    import ray
except ImportError as error:
    raise ImportError("--engine ray needs Ray: pip install 'treecrf[ray]'") from error

_OBJECT_STORE_BYTES = 128 << 20  # nothing large goes through Ray's object store
_SHARD_LINES = {"cuda": 8 * SHARD_STEP, "cpu": 2 * SHARD_STEP}  # some seconds of work on a GPU, some minutes on a CPU
_PROGRESS_SECONDS = 10.0  # between two progress messages

Report = Callable[[str], object]


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of `treecrf parse --engine ray`: the cluster, its workers and the shards."""

    address: str | None = None  # None: RAY_ADDRESS, or this machine
    device: str | None = None  # None: cuda if the cluster has GPUs
    workers: int | None = None  # None: as many as fit
    cpus_per_worker: int = 1
    gpus_per_worker: float = 1.0
    cpu_workers: int = 0  # additional workers that use the CPU
    shard_lines: int | None = None
    retries: int = 3

    def __post_init__(self) -> None:
        if self.shard_lines is not None and (self.shard_lines < 1 or self.shard_lines % SHARD_STEP):
            raise ValueError(f"--shard-lines is {self.shard_lines:,}; expected a multiple of {SHARD_STEP:,}")
        if self.device not in (None, "cpu", "cuda"):
            raise ValueError(f"--device is {self.device}; expected cpu or cuda, because Ray assigns the GPUs")
        for name, minimum in (("workers", 1), ("cpus_per_worker", 1), ("cpu_workers", 0), ("retries", 0)):
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise ValueError(f"--{name.replace('_', '-')} is {value}; expected {minimum} or more")
        if not 0 < self.gpus_per_worker <= 1:
            raise ValueError(f"--gpus-per-worker is {self.gpus_per_worker}; expected more than 0 and at most 1")


def parse_shards(
    inputs: Sequence[str], output: str, options: LineOptions, cluster: ClusterOptions, *, resume: bool, report: Report
) -> int:
    """Parses every shard that has no output file yet. Returns the exit status, which is 1 if a shard failed."""
    if not inputs or STDIN in inputs or output == STDOUT:
        raise ValueError("--engine ray reads files and writes to a folder: name both, INPUT... -o FOLDER")
    folder = Path(output).resolve()
    jobs = match_outputs(inputs, f"{folder}{os.sep}", SUFFIXES[options.format])
    if Path(options.model).is_dir():
        options = replace(options, model=str(Path(options.model).resolve()))
    settings = options.output_settings() | {"model_sha256": model_digest(options.model)}
    settings |= {"shard_lines": cluster.shard_lines} if cluster.shard_lines else {}
    paths = [str(Path(file.path).resolve()) for file, _ in jobs]
    targets = [target.relative_to(folder) for _, target in jobs if target is not None]
    manifest = Manifest.read(folder, settings, paths) if _has_run(folder, resume=resume) else None
    with _connect(cluster):
        devices = _worker_devices(cluster, report)
        if manifest is None:
            settings.setdefault("shard_lines", _SHARD_LINES[devices[0]])
            manifest = _start_run(folder, settings, paths, targets)
        return _finish_run(manifest, options, cluster, devices, report)


def _has_run(folder: Path, *, resume: bool) -> bool:
    if not (folder / FILE_NAME).exists():
        return False
    if not resume:
        raise FileExistsError(f"{folder} already has a run; continue it with --resume, or choose another folder")
    return True


@contextmanager
def _connect(cluster: ClusterOptions) -> Iterator[None]:
    """Connects to the cluster, or starts one on this machine for the duration of the block."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    settings: dict[str, Any] = {"address": cluster.address or os.environ.get("RAY_ADDRESS") or "local"}
    if settings["address"] == "local":
        required = ((cluster.workers or 0) + cluster.cpu_workers) * cluster.cpus_per_worker
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        settings |= {"num_cpus": max(available, required), "object_store_memory": _OBJECT_STORE_BYTES}
        settings |= {"include_dashboard": False}
    ray.init(**settings, log_to_driver=False, logging_level="error")
    try:
        yield
    finally:
        ray.shutdown()


def _start_run(folder: Path, settings: dict[str, Any], paths: list[str], targets: list[Path]) -> Manifest:
    """Cuts the inputs into shards, in parallel on the cluster, and writes the manifest."""
    stamps = file_stamps(paths)
    remote = ray.remote(cut_shards)
    pending = [remote.remote(*job, settings["shard_lines"]) for job in zip(paths, targets, strict=True)]
    shards: list[Shard] = []
    for result in pending:
        try:
            shards += ray.get(result)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
    existing = [shard.output for shard in shards if (folder / shard.output).exists()]
    if existing:
        raise FileExistsError(f"{folder / existing[0]} exists without a {FILE_NAME}; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(folder, settings, shards, inputs=stamps)
    manifest.save(now=True)
    return manifest


def _finish_run(
    manifest: Manifest, options: LineOptions, cluster: ClusterOptions, devices: Sequence[str], report: Report
) -> int:
    shards = manifest.unfinished_shards()
    devices = devices[: len(shards)]
    path = manifest.folder / FILE_NAME
    report(f"{len(shards):,} of {len(manifest.shards):,} shards to do, {len(devices):,} workers; {path}")
    started = time.monotonic()
    try:
        _Driver(manifest, shards, options, cluster, devices, report).run()
    except KeyboardInterrupt:
        report("interrupted; --resume continues the run")
        return 130
    finally:
        manifest.save(now=True)
    shutil.rmtree(manifest.folder / PARTIAL_FOLDER, ignore_errors=True)
    for line in manifest.report():
        report(line)
    seconds = time.monotonic() - started
    report(f"{seconds:,.1f} s, {sum(shard.lines for shard in shards) / max(seconds, 1e-9):,.0f} lines/s")
    if any(progress.state == "failed" for progress in manifest.progress.values()):
        report("some shards failed; --resume tries them again")
        return 1
    return 0


def _worker_devices(cluster: ClusterOptions, report: Report) -> list[str]:
    """The device of each worker."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    capacity = {
        "cpu": sum(int(node.get("CPU", 0)) // cluster.cpus_per_worker for node in nodes),
        "cuda": sum(
            min(int(node.get("GPU", 0) / cluster.gpus_per_worker), int(node.get("CPU", 0)) // cluster.cpus_per_worker)
            for node in nodes
        ),
    }
    device = cluster.device or ("cuda" if capacity["cuda"] else "cpu")
    count = cluster.workers or capacity[device]
    if not count:
        need = f"{cluster.cpus_per_worker} cores" + (" and a GPU" if device == "cuda" else "")
        raise ValueError(f"no machine of the cluster has {need} for a worker; change --device or --cpus-per-worker")
    if count > capacity[device]:
        report(f"{capacity[device]:,} of {count:,} workers fit on the cluster; the others wait for more machines")
    return [device] * count + ["cpu"] * (cluster.cpu_workers if device == "cuda" else 0)


@dataclass
class _Assignment:
    """A worker and its task: a shard, or None while it loads its parser."""

    worker: Any
    device: str
    source: str = ""  # the input of its last shard
    shard: Shard | None = None


class _Driver:
    """Starts workers and gives them shards until every shard is done or has failed."""

    def __init__(
        self,
        manifest: Manifest,
        shards: Sequence[Shard],
        options: LineOptions,
        cluster: ClusterOptions,
        devices: Sequence[str],
        report: Report,
    ) -> None:
        self.manifest = manifest
        self.queue = ShardQueue(shards)
        self.options = options
        self.cluster = cluster
        self.devices = devices
        self.report = report
        self.assignments: dict[Any, _Assignment] = {}  # by the reference to their result
        self.idle: list[_Assignment] = []
        self.failed_starts = 0  # since the last worker that started
        self.shards_done = 0

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
            if time.monotonic() > last_report + _PROGRESS_SECONDS:
                last_report = time.monotonic()
                started = sum(bool(assignment.shard) for assignment in self.assignments.values())
                self.report(f"{self.shards_done:,} shards done, {started:,} in progress")

    def _start_worker(self, device: str) -> None:
        cpus, gpus = self.cluster.cpus_per_worker, self.cluster.gpus_per_worker if device == "cuda" else 0
        worker = ray.remote(Worker).options(num_cpus=cpus, num_gpus=gpus, max_restarts=0).remote()
        result = worker.load.remote(self.options, device, self.manifest.folder, self.manifest.settings, threads=cpus)
        self.assignments[result] = _Assignment(worker, device)

    def _on_result(self, reference: Any) -> None:
        assignment = self.assignments.pop(reference)
        try:
            result: WorkerResult = ray.get(reference)
            is_usable = not result.problem or result.is_final
        except ray.exceptions.RayError as error:
            result, is_usable = WorkerResult(f"the worker died: {_summary(error)}"), False
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
        self.assignments[idle.worker.parse.remote(shard)] = _Assignment(idle.worker, idle.device, shard.source, shard)

    def _count_start(self, result: WorkerResult) -> None:
        self.failed_starts = self.failed_starts + 1 if result.problem else 0
        if self.failed_starts > 2 * len(self.devices):
            raise OSError(f"no worker can start; the last one failed with: {result.problem}")

    def _record(self, shard: Shard, device: str, result: WorkerResult) -> None:
        progress = self.manifest.progress[shard.output]
        if not result.problem:
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


def _summary(error: Exception) -> str:
    """The first line of a message from Ray, with the process and the address that the message names."""
    text = str(error)
    place = [match[0] for match in (re.search(rf"\b{name}: (\S+)", text) for name in ("pid", "ip")) if match]
    return text.partition("\n")[0] + (f" ({', '.join(place)})" if place else "")
