"""A corpus in shards on a Ray cluster, or on this machine alone: `treecrf parse --engine ray`.

Each worker is an actor that holds a parser and writes whole shards. Whatever becomes of it, the driver gives its shard
to another; whatever becomes of the driver, the shards that are done have their outputs, and a later run goes on.
"""

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecrf.bulk.inputs import STDIN
from treecrf.bulk.manifest import NAME, Manifest, stamps
from treecrf.bulk.outputs import plan
from treecrf.bulk.shards import STEP, Shard, ShardQueue, cut
from treecrf.bulk.worker import PARTS, Outcome, Worker, digest
from treecrf.cli.parse import what_decides
from treecrf.parser.formats import SUFFIXES

try:
    import ray
except ImportError as error:
    raise ImportError("--engine ray needs Ray: pip install 'treecrf[ray]'") from error

_STORE = 128 << 20  # bytes of Ray's store, through which nothing large goes
_SHARD_LINES = {"cuda": 8 * STEP, "cpu": 2 * STEP}  # some seconds of work, or some minutes
_NEWS = 10.0  # seconds between two lines about progress


def parse_shards(args: argparse.Namespace) -> int:
    """Parse every shard of the inputs that has no output yet; the exit status is 1 where one of them failed."""
    _check(args)
    folder = Path(args.output).resolve()
    jobs = plan(args.input, f"{folder}{os.sep}", SUFFIXES[args.format])
    args.model = str(Path(args.model).resolve()) if Path(args.model).is_dir() else args.model
    settings = what_decides(args) | {"model_sha256": digest(args.model)}
    settings |= {"shard_lines": args.shard_lines} if args.shard_lines else {}
    inputs = [str(Path(source.path).resolve()) for source, _ in jobs]
    targets = [target.relative_to(folder) for _, target in jobs if target is not None]
    manifest = Manifest.read(folder, settings, inputs) if _is_begun(folder, args) else None
    with _cluster(args):
        seats = _seats(args)
        if manifest is None:
            settings.setdefault("shard_lines", _SHARD_LINES[seats[0]])
            manifest = _begin(folder, settings, inputs, targets)
        return _finish(args, manifest, seats)


def _check(args: argparse.Namespace) -> None:
    if not args.input or STDIN in args.input or args.output == STDIN:
        raise ValueError("--engine ray reads files and writes to a folder: name both, INPUT... -o FOLDER")
    if args.shard_lines is not None and (args.shard_lines < 1 or args.shard_lines % STEP):
        raise ValueError(f"--shard-lines is {args.shard_lines:,}; expected a multiple of {STEP:,}")
    if args.device not in (None, "cpu", "cuda"):
        raise ValueError(f"--device is {args.device}; expected cpu or cuda, for Ray chooses which GPU is whose")
    for name, least in (("workers", 1), ("cpus_per_worker", 1), ("cpu_workers", 0), ("retries", 0)):
        if getattr(args, name) is not None and getattr(args, name) < least:
            raise ValueError(f"--{name.replace('_', '-')} is {getattr(args, name)}; expected {least} or more")
    if not 0 < args.gpus_per_worker <= 1:
        raise ValueError(f"--gpus-per-worker is {args.gpus_per_worker}; expected more than 0, and no more than 1")


def _is_begun(folder: Path, args: argparse.Namespace) -> bool:
    if not (folder / NAME).exists():
        return False
    if not args.resume:
        raise FileExistsError(f"there is a run in {folder}: --resume goes on with it; or choose another folder")
    return True


@contextmanager
def _cluster(args: argparse.Namespace) -> Iterator[None]:
    """Be connected to the cluster, or have one on this machine meanwhile."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options: dict[str, Any] = {"address": args.address or os.environ.get("RAY_ADDRESS") or "local"}
    if options["address"] == "local":
        wanted = ((args.workers or 0) + args.cpu_workers) * args.cpus_per_worker
        cores = max(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, wanted)
        options |= {"num_cpus": cores, "object_store_memory": _STORE, "include_dashboard": False}
    ray.init(**options, log_to_driver=False, logging_level="error")
    try:
        yield
    finally:
        ray.shutdown()


def _begin(folder: Path, settings: dict[str, Any], inputs: list[str], targets: list[Path]) -> Manifest:
    """Cut the inputs, all at once on the cluster, and write down what there is to do."""
    found = stamps(inputs)
    remote = ray.remote(cut)
    cuts = [remote.remote(*job, settings["shard_lines"]) for job in zip(inputs, targets, strict=True)]
    shards: list[Shard] = []
    for each in cuts:
        try:
            shards += ray.get(each)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
    there = [shard.output for shard in shards if (folder / shard.output).exists()]
    if there:
        raise FileExistsError(f"{folder / there[0]} is there, but no {NAME}; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(folder, settings, shards, inputs=found)
    manifest.save(now=True)
    return manifest


def _finish(args: argparse.Namespace, manifest: Manifest, seats: Sequence[str]) -> int:
    shards = manifest.waiting()
    seats = seats[: len(shards)]
    _tell(f"{len(shards):,} of {len(manifest.shards):,} shards to do, {len(seats):,} workers; {manifest.folder / NAME}")
    started = time.monotonic()
    try:
        _Run(args, manifest, shards, seats).work()
    except KeyboardInterrupt:
        _tell("interrupted; --resume goes on where it stopped")
        return 130
    finally:
        manifest.save(now=True)
    shutil.rmtree(manifest.folder / PARTS, ignore_errors=True)
    for line in manifest.report():
        _tell(line)
    seconds = time.monotonic() - started
    _tell(f"{seconds:,.1f} s, {sum(shard.lines for shard in shards) / max(seconds, 1e-9):,.0f} lines/s")
    if any(each.state == "failed" for each in manifest.progress.values()):
        _tell("some shards failed; --resume tries them again")
        return 1
    return 0


def _tell(news: str) -> None:
    print(f"treecrf parse: {news}", file=sys.stderr, flush=True)


def _seats(args: argparse.Namespace) -> list[str]:
    """The device of each worker."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    rooms = {
        "cpu": sum(int(node.get("CPU", 0)) // args.cpus_per_worker for node in nodes),
        "cuda": sum(
            min(int(node.get("GPU", 0) / args.gpus_per_worker), int(node.get("CPU", 0)) // args.cpus_per_worker)
            for node in nodes
        ),
    }
    device = args.device or ("cuda" if rooms["cuda"] else "cpu")
    count = args.workers or rooms[device]
    if not count:
        need = f"{args.cpus_per_worker} cores" + (" and a GPU" if device == "cuda" else "")
        raise ValueError(f"no machine of the cluster has {need} for a worker; choose --device or --cpus-per-worker")
    if count > rooms[device]:
        _tell(f"the cluster has room for {rooms[device]:,} of {count:,} workers; the others wait for more machines")
    return [device] * count + ["cpu"] * (args.cpu_workers if device == "cuda" else 0)


@dataclass
class _Duty:
    """What a worker is at: a shard, or getting ready."""

    worker: Any
    device: str
    source: str = ""  # which it has read last
    shard: Shard | None = None


class _Run:
    """Workers and the shards that they take one after the other."""

    def __init__(
        self, args: argparse.Namespace, manifest: Manifest, shards: Sequence[Shard], seats: Sequence[str]
    ) -> None:
        self.args = args
        self.manifest = manifest
        self.queue = ShardQueue(shards)
        self.seats = seats
        self.duties: dict[Any, _Duty] = {}  # by what Ray will have an answer to
        self.idle: list[_Duty] = []
        self.false_starts = 0
        self.done = 0

    def work(self) -> None:
        """Return when every shard is done or has failed for good."""
        told = time.monotonic()
        for device in self.seats:
            self._hire(device)
        while self.queue or any(duty.shard for duty in self.duties.values()):
            answers, _ = ray.wait(list(self.duties), timeout=1.0)
            for answer in answers:
                self._hear(answer)
            self.manifest.save()
            if time.monotonic() > told + _NEWS:
                told = time.monotonic()
                begun = sum(bool(duty.shard) for duty in self.duties.values())
                _tell(f"{self.done:,} shards done, {begun:,} begun")

    def _hire(self, device: str) -> None:
        gpus = self.args.gpus_per_worker if device == "cuda" else 0
        actor = ray.remote(Worker).options(num_cpus=self.args.cpus_per_worker, num_gpus=gpus, max_restarts=0)
        worker = actor.remote()
        answer = worker.load.remote(self.args, device, self.manifest.folder, self.manifest.settings)
        self.duties[answer] = _Duty(worker, device)

    def _hear(self, answer: Any) -> None:
        duty = self.duties.pop(answer)
        try:
            outcome: Outcome = ray.get(answer)
            is_well = not outcome.problem or outcome.is_final
        except ray.exceptions.RayError as error:
            outcome, is_well = Outcome(f"the worker died: {_gist(error)}"), False
        if duty.shard is None:
            self._count_start(outcome)
        else:
            self._note(duty.shard, duty.device, outcome)
        if is_well:
            self.idle.append(_Duty(duty.worker, duty.device, duty.source))
        else:
            ray.kill(duty.worker)  # what broke it may have broken more
            self._hire(duty.device)
        while self.queue and self.idle:
            self._assign(self.idle.pop())

    def _assign(self, duty: _Duty) -> None:
        shard = self.queue.take(duty.source)
        self.manifest.progress[shard.output].attempts += 1
        self.duties[duty.worker.parse.remote(shard)] = _Duty(duty.worker, duty.device, shard.source, shard)

    def _count_start(self, outcome: Outcome) -> None:
        self.false_starts = self.false_starts + 1 if outcome.problem else 0
        if self.false_starts > 2 * len(self.seats):
            raise OSError(f"no worker can start; the last one said: {outcome.problem}")

    def _note(self, shard: Shard, device: str, outcome: Outcome) -> None:
        progress = self.manifest.progress[shard.output]
        if not outcome.problem:
            progress.state, progress.device, progress.seconds = "done", device, outcome.seconds
            progress.skipped = len(outcome.warnings)
            self.done += 1
            for warning in outcome.warnings:
                _tell(warning)
            return
        progress.problems.append(outcome.problem)
        if outcome.is_final or progress.attempts > self.args.retries:
            progress.state = "failed"
            _tell(f"failed: {shard.output}: {outcome.problem}")
        else:
            self.queue.put_back(shard)
            _tell(f"to be retried: {shard.output}: {outcome.problem}")


def _gist(error: Exception) -> str:
    """Of what Ray says at length, what happened and where."""
    text = str(error)
    place = [found[0] for found in (re.search(rf"\b{name}: (\S+)", text) for name in ("pid", "ip")) if found]
    return text.partition("\n")[0] + (f" ({', '.join(place)})" if place else "")
