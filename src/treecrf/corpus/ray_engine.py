"""Parses shards on a Ray cluster, or on the cores and GPUs of this machine: `treecrf parse --engine ray`.

Each worker is an actor with a parser that writes whole shards. If a worker fails, the driver gives its shard to another
one. If the driver fails, the finished shards have their output files, and a later run continues with the others.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import ray

from treecrf.corpus.inputs import STDIN, find_inputs
from treecrf.corpus.manifest import FILE_NAME, Manifest
from treecrf.corpus.options import SUFFIXES, ClusterOptions, ParseOptions
from treecrf.corpus.output_record import InputStamp, stamp_file
from treecrf.corpus.outputs import STDOUT, output_paths
from treecrf.corpus.ray_driver import PARTIAL_FOLDER, Driver, Report, summarize_error
from treecrf.corpus.shards import SHARD_STEP, Shard, ShardQueue, cut_shards
from treecrf.corpus.terminal import ProgressBar, defer_interrupts
from treecrf.files import lock_folder, real_path
from treecrf.threads import available_processors

_OBJECT_STORE_BYTES = 128 << 20  # nothing large goes through Ray's object store
_SHARD_LINES = {"cuda": 8 * SHARD_STEP, "cpu": 2 * SHARD_STEP}  # some seconds of work on a GPU, some minutes on a CPU


def parse_shards(
    inputs: Sequence[str],
    output: str,
    options: ParseOptions,
    cluster: ClusterOptions,
    *,
    device: str | None,
    resume: bool,
    report: Report,
) -> int:
    """Parses every shard that has no output file yet. Returns the exit status, which is 1 if a shard failed."""
    if not inputs or STDIN in inputs or output == STDOUT:
        raise ValueError("--engine ray reads files and writes to a folder: name both, INPUT... -o FOLDER")
    _check_options(cluster, device)
    folder = real_path(output)
    files = find_inputs(inputs, report, output=folder)
    targets = output_paths(files, str(folder), SUFFIXES[options.format], is_folder=True)
    options = options.with_absolute_model()
    settings = options.output_settings()
    settings |= {"shard_lines": cluster.shard_lines} if cluster.shard_lines else {}
    paths = [str(real_path(file.path)) for file in files]
    if pipe := next((file for file in files if not file.is_regular), None):
        raise ValueError(f"--engine ray reads its inputs more than once, and {pipe.name} is not a file")
    with lock_folder(folder):
        is_started = (folder / FILE_NAME).exists()
        if is_started and not resume:
            raise FileExistsError(f"{folder} already has a run; continue it with --resume, or choose another folder")
        with _connect(cluster):
            devices = _worker_devices(cluster, device, report)
            stamps = dict(zip(paths, _run_tasks(stamp_file, [(path,) for path in paths]), strict=True))
            if is_started:
                manifest = Manifest.read(folder, settings, stamps)
            else:
                settings.setdefault("shard_lines", _SHARD_LINES[devices[0]])
                manifest = _start_run(folder, settings, stamps, [target.relative_to(folder) for target in targets])
            return _finish_run(manifest, options, cluster, devices, report)


def _check_options(cluster: ClusterOptions, device: str | None) -> None:
    if cluster.shard_lines is not None and (cluster.shard_lines < 1 or cluster.shard_lines % SHARD_STEP):
        raise ValueError(f"--shard-lines is {cluster.shard_lines:,}; expected a multiple of {SHARD_STEP:,}")
    if device not in (None, "cpu", "cuda"):
        raise ValueError(f"--device is {device}; expected cpu or cuda, because Ray assigns the GPUs")


@contextmanager
def _connect(cluster: ClusterOptions) -> Iterator[None]:
    """Connects to the cluster, or starts one on this machine for the duration of the block."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    settings: dict[str, Any] = {"address": cluster.address or os.environ.get("RAY_ADDRESS") or "local"}
    if settings["address"] == "local":
        required = ((cluster.workers or 0) + cluster.cpu_workers) * cluster.cpus_per_worker
        settings |= {"num_cpus": max(available_processors(), required), "object_store_memory": _OBJECT_STORE_BYTES}
        settings |= {"include_dashboard": False}
    _start_ray(settings)
    try:
        yield
    except ray.exceptions.RayError as error:
        raise OSError(f"Ray has failed: {summarize_error(error)}; --resume continues the run") from None
    finally:
        ray.shutdown()


def _start_ray(settings: Mapping[str, Any]) -> None:
    """Starts or finds Ray. On a busy machine its processes may be too slow, so a failed start is tried once more."""
    for is_last in (False, True):
        try:
            with defer_interrupts():
                ray.init(**settings, log_to_driver=False, logging_level="error")
        except Exception as error:  # RuntimeError, TimeoutError, RayError and others
            ray.shutdown()
            if is_last or settings["address"] != "local":
                raise OSError(f"Ray cannot start: {summarize_error(error)}; run the command again") from None
        else:
            return


def _run_tasks(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Calls a function with each tuple of arguments, in parallel on the cluster."""
    remote = ray.remote(function)
    pending = [remote.remote(*values) for values in arguments]
    try:
        return [ray.get(result) for result in pending]
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None


def _start_run(
    folder: Path, settings: dict[str, Any], stamps: Mapping[str, InputStamp], targets: Sequence[Path]
) -> Manifest:
    jobs = [(path, target, settings["shard_lines"]) for path, target in zip(stamps, targets, strict=True)]
    shards: list[Shard] = [shard for of_input in _run_tasks(cut_shards, jobs) for shard in of_input]
    existing = [shard.output for shard in shards if (folder / shard.output).exists()]
    if existing:
        raise FileExistsError(f"{folder / existing[0]} exists without a {FILE_NAME}; choose another folder")
    manifest = Manifest(folder, settings, {shard.output: shard for shard in shards}, stamps)
    manifest.save(now=True)
    return manifest


def _finish_run(
    manifest: Manifest, options: ParseOptions, cluster: ClusterOptions, devices: Sequence[str], report: Report
) -> int:
    shards = manifest.unfinished_shards()
    devices = devices[: len(shards)]
    path = manifest.folder / FILE_NAME
    report(f"{len(shards):,} of {len(manifest.shards):,} shards to do, {len(devices):,} workers; {path}")
    started = time.monotonic()
    lines = sum(shard.lines for shard in shards)
    try:
        with ProgressBar(lines, unit="lines") as progress:
            print_above = partial(progress.print_message, report)
            Driver(manifest, ShardQueue(shards), options, cluster, devices, print_above, progress).run()
    except KeyboardInterrupt:
        report("interrupted; --resume continues the run")
        return 130
    finally:
        manifest.save(now=True)
    shutil.rmtree(manifest.folder / PARTIAL_FOLDER, ignore_errors=True)
    for line in manifest.report():
        report(line)
    seconds = time.monotonic() - started
    report(f"{seconds:,.1f} s, {lines / max(seconds, 1e-9):,.0f} lines/s")
    if any(progress.state == "failed" for progress in manifest.progress.values()):
        report("some shards failed; --resume tries them again")
        return 1
    return 0


def _worker_devices(cluster: ClusterOptions, device: str | None, report: Report) -> list[str]:
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    capacity = {
        "cpu": sum(int(node.get("CPU", 0)) // cluster.cpus_per_worker for node in nodes),
        "cuda": sum(
            min(int(node.get("GPU", 0) / cluster.gpus_per_worker), int(node.get("CPU", 0)) // cluster.cpus_per_worker)
            for node in nodes
        ),
    }
    device = device or ("cuda" if capacity["cuda"] else "cpu")
    count = cluster.workers or capacity[device]
    if not count:
        need = f"{cluster.cpus_per_worker} cores" + (" and a GPU" if device == "cuda" else "")
        raise ValueError(f"no machine of the cluster has {need} for a worker; change --device or --cpus-per-worker")
    if count > capacity[device]:
        report(f"{capacity[device]:,} of {count:,} workers fit on the cluster; the others wait for more machines")
    return [device] * count + ["cpu"] * (cluster.cpu_workers if device == "cuda" else 0)
