import json
import os
import signal
import subprocess
import sys
import time

import pytest

from training.reproduce.tiny_treebank import TINY, make_treebank
from treecrf.training.reproduce.plan import Plan, Treebank
from treecrf.training.reproduce.runner import is_finished, run_all
from treecrf.training.reproduce.worker import train_and_parse

SETTINGS = [argument for setting in (*TINY, "train.checkpoint_steps=1") for argument in ("--set", setting)]


@pytest.fixture
def treebank(tmp_path):
    return make_treebank(tmp_path / "treebank")


def make_plan(treebank, out, **options):
    plan = Plan(
        treebank=Treebank.find(treebank), out=out, tables=("calibration",), seeds=(1,), settings=TINY, **options
    )
    plan.write()
    return plan


def start(treebank, out, epochs):
    options = ["--tables", "test", "--seeds", "1", "--epochs", str(epochs), "--device", "cpu", *SETTINGS]
    return subprocess.Popen(
        [sys.executable, "-m", "treecrf", "reproduce", str(treebank), "-o", str(out), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
    )


def wait_until(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.05)


def test_a_killed_and_restarted_reproduction_gives_the_same_report(treebank, tmp_path):
    uninterrupted = start(treebank, tmp_path / "uninterrupted", 4)
    killed = start(treebank, tmp_path / "killed", 4)
    metrics = tmp_path / "killed" / "runs" / "two-stage-1" / "metrics.jsonl"
    wait_until(lambda: metrics.exists() and metrics.read_text().count('"epoch"') >= 2)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not (tmp_path / "killed" / "report.json").exists()
    restarted = start(treebank, tmp_path / "killed", 4)
    output, _ = restarted.communicate(timeout=600)
    assert restarted.returncode == 0, output
    assert uninterrupted.communicate(timeout=600) and uninterrupted.returncode == 0
    one, other = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("uninterrupted", "killed"))
    assert one["tables"] == other["tables"]
    assert len(one["tables"]["test"]["lines"]) == 2


def test_finished_runs_are_not_repeated(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path / "out", epochs=1)
    (run,) = plan.runs()
    assert not is_finished(plan, run)
    train_and_parse(plan.recipe(run), run.folder, "cpu")
    messages = []
    assert run_all(plan, report_progress=messages.append) == []
    assert messages == ["1 of 1 runs are already finished"]
    assert not is_finished(make_plan(treebank, tmp_path / "out", epochs=2), run)


def test_a_run_with_other_settings_is_an_error(treebank, tmp_path):
    plan = make_plan(treebank, tmp_path / "out", epochs=1)
    (run,) = plan.runs()
    train_and_parse(plan.recipe(run), run.folder, "cpu")
    other = Plan(treebank=plan.treebank, out=plan.out, tables=plan.tables, seeds=(1,), epochs=1)
    with pytest.raises(ValueError, match=r"other values of model\.word_size, .*use another folder"):
        run_all(other)


def test_a_failed_run_does_not_stop_the_others(treebank, tmp_path):
    options = {"tables": ("test",), "seeds": (1,), "epochs": 1, "vectors": "none", "settings": TINY}
    plan = Plan(treebank=Treebank.find(treebank), out=tmp_path / "out", **options)
    plan.write()
    messages = []
    failures = run_all(plan, jobs=2, device="cpu", report_progress=messages.append)
    assert {failure.run.name for failure in failures} == {"vectors-1", "vectors-gold-tags-1"}
    assert all("none" in failure.reason for failure in failures)
    assert len(messages) == len(plan.runs()) and any("dev F" in line for line in messages)
