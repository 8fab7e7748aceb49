import json
import os
import signal
import subprocess
import sys
import time

import pytest

from reproduce.bank import TINY, make_bank
from treecrf.reproduce.plan import Plan, Treebank
from treecrf.reproduce.runner import is_finished, run_all
from treecrf.reproduce.worker import work

SETTINGS = [argument for setting in (*TINY, "train.checkpoint_steps=1") for argument in ("--set", setting)]


@pytest.fixture
def bank(tmp_path):
    return make_bank(tmp_path / "bank")


def planned(bank, out, **options):
    plan = Plan(treebank=Treebank.find(bank), out=out, tables=("calibration",), seeds=(1,), settings=TINY, **options)
    plan.write()
    return plan


def start(bank, out, epochs):
    options = ["--tables", "test", "--seeds", "1", "--epochs", str(epochs), "--device", "cpu", *SETTINGS]
    return subprocess.Popen(
        [sys.executable, "-m", "treecrf", "reproduce", str(bank), "-o", str(out), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
    )


def wait_until(met, seconds=120):
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.05)


def test_killed_and_started_again_it_gives_the_same_report(bank, tmp_path):
    straight = start(bank, tmp_path / "straight", 12)
    killed = start(bank, tmp_path / "killed", 12)
    journal = tmp_path / "killed" / "runs" / "two-stage-1" / "metrics.jsonl"
    wait_until(lambda: journal.exists() and journal.read_text().count('"epoch"') >= 2)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not (tmp_path / "killed" / "report.json").exists()
    again = start(bank, tmp_path / "killed", 12)
    output, _ = again.communicate(timeout=200)
    assert again.returncode == 0, output
    assert straight.communicate(timeout=200) and straight.returncode == 0
    one, other = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("straight", "killed"))
    assert one["tables"] == other["tables"]
    assert len(one["tables"]["test"]["lines"]) == 1


def test_what_is_finished_is_not_done_again(bank, tmp_path):
    plan = planned(bank, tmp_path / "out", epochs=1)
    (run,) = plan.runs()
    assert not is_finished(plan, run)
    work(plan.recipe(run), run.folder, "cpu")
    said = []
    assert run_all(plan, tell=said.append) == []
    assert said == ["1 of 1 runs are there already"]
    assert not is_finished(planned(bank, tmp_path / "out", epochs=2), run)


def test_a_run_by_other_settings_is_refused(bank, tmp_path):
    plan = planned(bank, tmp_path / "out", epochs=1)
    (run,) = plan.runs()
    work(plan.recipe(run), run.folder, "cpu")
    other = Plan(treebank=plan.treebank, out=plan.out, tables=plan.tables, seeds=(1,), epochs=1)
    with pytest.raises(ValueError, match=r"other values of model\.word_size, .*name another folder"):
        run_all(other)


def test_a_run_that_fails_leaves_the_others_alone_and_its_reason(bank, tmp_path):
    options = {"tables": ("test",), "seeds": (1,), "epochs": 1, "vectors": "none", "settings": TINY}
    both = Plan(treebank=Treebank.find(bank), out=tmp_path / "out", **options)
    both.write()
    said = []
    (failure,) = run_all(both, jobs=2, device="cpu", tell=said.append)
    assert failure.run.name == "vectors-1" and "none" in failure.reason
    assert len(said) == 2 and any("dev F" in line for line in said)
