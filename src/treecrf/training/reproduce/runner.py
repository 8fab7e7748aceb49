"""Runs a plan: several worker processes at a time; finished runs are not repeated."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from treecrf.config import SettingError, differences, read_config, to_toml
from treecrf.files import write_file
from treecrf.training import Recipe
from treecrf.training.calibration.report import RECORD as CALIBRATION
from treecrf.training.checkpoint import RECIPE
from treecrf.training.reproduce.plan import Plan, Run
from treecrf.training.reproduce.worker import OUTCOME

_POLL_SECONDS = 0.2
_EXIT_SECONDS = 20  # for a worker to exit before it is killed
_REASON_LINES = 3  # last lines of a log that the failure message quotes


class Failure(NamedTuple):
    """A run that failed."""

    run: Run
    reason: str
    log: Path


class _Worker(NamedTuple):
    run: Run
    process: subprocess.Popen[bytes]
    log: Path


def is_finished(plan: Plan, run: Run) -> bool:
    """Whether a run is finished with the recipe of the plan.

    A finished run with fewer epochs can be resumed. Other differences between the recipes are an error.
    """
    if not (run.folder / OUTCOME).exists():
        return False
    changed = differences(read_config(Recipe, run.folder / RECIPE), plan.recipe(run))
    if changed == ["train.epochs"]:
        return False  # the training package checks whether the run can be resumed
    if changed:
        raise SettingError(
            f"{run.folder} was made with other values of {', '.join(changed)}; use another folder, or remove that one"
        )
    return True


def run_all(
    plan: Plan, *, jobs: int = 1, device: str | None = None, report_progress: Callable[[str], None] = lambda line: None
) -> list[Failure]:
    """Runs the unfinished runs of a plan and returns those that failed; a failure does not stop the other runs."""
    runs = plan.runs()
    for run in runs:
        plan.recipe(run)  # raises errors in settings before anything runs
    waiting = [run for run in runs if not is_finished(plan, run)]
    finished = len(runs) - len(waiting)
    if finished:
        report_progress(f"{finished} of {len(runs)} runs are already finished")
    workers: list[_Worker] = []
    failures: list[Failure] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(_start_worker(plan, waiting.pop(0), device, jobs))
            exited = [worker for worker in workers if worker.process.poll() is not None]
            for worker in exited:
                workers.remove(worker)
                finished += 1
                failure = _failure(worker)
                failures += [failure] if failure else []
                result = failure.reason if failure else _result(worker.run)
                report_progress(f"[{finished}/{len(runs)}] {worker.run.name}: {result}")
            if not exited:
                time.sleep(_POLL_SECONDS)
    finally:
        _stop(workers)
    return failures


def _start_worker(plan: Plan, run: Run, device: str | None, jobs: int) -> _Worker:
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    for name in (OUTCOME, CALIBRATION):  # they describe the weights before this training
        (run.folder / name).unlink(missing_ok=True)
    recipe, log = (run.folder.with_name(f"{run.name}{ending}") for ending in (".toml", ".log"))
    write_file(recipe, to_toml(plan.recipe(run)).encode())
    command = [sys.executable, "-m", "treecrf.training.reproduce.worker", str(recipe), str(run.folder)]
    threads = max(1, (os.cpu_count() or 1) // jobs)
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command + ([device] if device else []),
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={"OMP_NUM_THREADS": str(threads)} | os.environ,
        )
    return _Worker(run, process, log)


def _failure(worker: _Worker) -> Failure | None:
    if worker.process.stdin:
        worker.process.stdin.close()
    if worker.process.returncode == 0:
        return None
    lines = worker.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_REASON_LINES:]
    reason = "; ".join(lines) if lines else f"exit status {worker.process.returncode}"
    return Failure(worker.run, f"failed: {reason} (see {worker.log})", worker.log)


def _result(run: Run) -> str:
    outcome = json.loads((run.folder / OUTCOME).read_bytes())
    return f"dev F {outcome['dev_f']:.2f}, best of epoch {outcome['best_epoch']}"


def _stop(workers: Sequence[_Worker]) -> None:
    """Stops running workers: each exits when its standard input is closed."""
    for worker in workers:
        if worker.process.stdin:
            worker.process.stdin.close()
    for worker in workers:
        try:
            worker.process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
