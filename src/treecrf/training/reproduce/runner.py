"""Runs a plan: several worker processes at a time; finished runs are not repeated."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from treecrf.config import SettingError, differences, read_config, to_toml
from treecrf.files import isolated_python, write_file
from treecrf.training import Recipe
from treecrf.training.calibration.report import RECORD as CALIBRATION
from treecrf.training.checkpoint import RECIPE
from treecrf.training.reproduce.plan import Plan, Run
from treecrf.training.reproduce.worker import OUTCOME

_WORKER = "from treecrf.training.reproduce.worker import main; main()"
_POLL_SECONDS = 0.2
_EXIT_SECONDS = 20  # until a worker that does not exit is killed
_REASON_LINES = 3  # last lines of a log that the failure message quotes


class Failure(NamedTuple):
    """A run that failed."""

    run: Run
    reason: str


def is_finished(plan: Plan, run: Run) -> bool:
    """Returns whether a run is finished with the recipe of the plan.

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
    workers: dict[Run, subprocess.Popen[bytes]] = {}
    failures: list[Failure] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                run = waiting.pop(0)
                workers[run] = _start_worker(plan, run, device, jobs)
            exited = [run for run, process in workers.items() if process.poll() is not None]
            for run in exited:
                finished += 1
                reason = _failure_reason(run, workers.pop(run))
                failures += [Failure(run, reason)] if reason else []
                report_progress(f"[{finished}/{len(runs)}] {run.name}: {reason or _result(run)}")
            if not exited:
                time.sleep(_POLL_SECONDS)
    finally:
        _stop(workers.values())
    return failures


def _log_path(run: Run) -> Path:
    return run.folder.with_name(f"{run.name}.log")


def _start_worker(plan: Plan, run: Run, device: str | None, jobs: int) -> "subprocess.Popen[bytes]":
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    for name in (OUTCOME, CALIBRATION):  # they describe the weights before this training
        (run.folder / name).unlink(missing_ok=True)
    recipe = run.folder.with_name(f"{run.name}.toml")
    write_file(recipe, to_toml(plan.recipe(run)).encode())
    command = [*isolated_python(_WORKER), str(recipe), str(run.folder)]
    environment = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // jobs))} | os.environ
    with _log_path(run).open("ab") as stream:
        return subprocess.Popen(
            command + ([device] if device else []),
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
        )


def _failure_reason(run: Run, process: "subprocess.Popen[bytes]") -> str:
    """Returns the reason of a failure, from the end of the worker's log; empty if the worker has succeeded."""
    if process.stdin:
        process.stdin.close()
    if process.returncode == 0:
        return ""
    lines = _log_path(run).read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_REASON_LINES:]
    reason = "; ".join(lines) if lines else f"exit status {process.returncode}"
    return f"failed: {reason} (see {_log_path(run)})"


def _result(run: Run) -> str:
    outcome = json.loads((run.folder / OUTCOME).read_bytes())
    return f"dev F {outcome['dev_f']:.2f}, best of epoch {outcome['best_epoch']}"


def _stop(processes: Collection["subprocess.Popen[bytes]"]) -> None:
    """Stops running workers: each exits when its standard input is closed."""
    for process in processes:
        if process.stdin:
            process.stdin.close()
    for process in processes:
        try:
            process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
