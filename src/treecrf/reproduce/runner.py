"""Runs, several at a time, each in a process of its own; what is finished is not done again."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from treecrf.atomic_io import write_file
from treecrf.calibration.io import RECORD as CALIBRATION
from treecrf.config import SettingError, differences, read_config, to_toml
from treecrf.reproduce.plan import Plan, Run
from treecrf.reproduce.worker import OUTCOME
from treecrf.training import Recipe
from treecrf.training.checkpoint import RECIPE

_BLINK = 0.2  # seconds between two looks at the processes
_GRACE = 20  # seconds that a process has to end
_TAIL = 3  # lines of a log that say what went wrong


class Failure(NamedTuple):
    """A run that did not finish, and its last words."""

    run: Run
    reason: str
    log: Path


class _Started(NamedTuple):
    run: Run
    process: subprocess.Popen[bytes]
    log: Path


def is_finished(plan: Plan, run: Run) -> bool:
    """Whether a run was done, by this very recipe; by a recipe that differs in more than can change is an error."""
    if not (run.folder / OUTCOME).exists():
        return False
    changed = differences(read_config(Recipe, run.folder / RECIPE), plan.recipe(run))
    if changed == ["train.epochs"]:
        return False  # training itself knows whether it can go on
    if changed:
        raise SettingError(
            f"{run.folder} was made with other values of {', '.join(changed)}; name another folder, or remove that one"
        )
    return True


def run_all(
    plan: Plan, *, jobs: int = 1, device: str | None = None, tell: Callable[[str], None] = lambda line: None
) -> list[Failure]:
    """Do what a plan's runs still need, and return those that failed; the others go on."""
    runs = plan.runs()
    for run in runs:
        plan.recipe(run)  # a setting that is wrong is wrong before anything runs
    waiting = [run for run in runs if not is_finished(plan, run)]
    done = len(runs) - len(waiting)
    if done:
        tell(f"{done} of {len(runs)} runs are there already")
    started: list[_Started] = []
    failures: list[Failure] = []
    try:
        while waiting or started:
            while waiting and len(started) < jobs:
                started.append(_start(plan, waiting.pop(0), device, jobs))
            ended = [each for each in started if each.process.poll() is not None]
            for each in ended:
                started.remove(each)
                done += 1
                failure = _failure(each)
                failures += [failure] if failure else []
                tell(f"[{done}/{len(runs)}] {each.run.name}: {failure.reason if failure else _outcome(each.run)}")
            if not ended:
                time.sleep(_BLINK)
    finally:
        _stop(started)
    return failures


def _start(plan: Plan, run: Run, device: str | None, jobs: int) -> _Started:
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    for made in (OUTCOME, CALIBRATION):  # of weights that are about to change
        (run.folder / made).unlink(missing_ok=True)
    recipe, log = (run.folder.with_name(f"{run.name}{ending}") for ending in (".toml", ".log"))
    write_file(recipe, to_toml(plan.recipe(run)).encode())
    command = [sys.executable, "-m", "treecrf.reproduce.worker", str(recipe), str(run.folder)]
    environment = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // jobs))} | os.environ  # cores are shared
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command + ([device] if device else []),
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    return _Started(run, process, log)


def _failure(started: _Started) -> Failure | None:
    if started.process.stdin:
        started.process.stdin.close()
    if started.process.returncode == 0:
        return None
    lines = started.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_TAIL:]
    reason = "; ".join(lines) if lines else f"ended with status {started.process.returncode}"
    return Failure(started.run, f"failed: {reason} (see {started.log})", started.log)


def _outcome(run: Run) -> str:
    facts = json.loads((run.folder / OUTCOME).read_bytes())
    return f"dev F {facts['dev_f']:.2f}, best of epoch {facts['best_epoch']}"


def _stop(started: Sequence[_Started]) -> None:
    """End what is still running: each process ends when its standard input does."""
    for each in started:
        if each.process.stdin:
            each.process.stdin.close()
    for each in started:
        try:
            each.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            each.process.kill()
            each.process.wait()
