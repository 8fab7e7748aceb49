import json
import subprocess
import sys

from treecrf.config import to_toml
from treecrf.training.reproduce.worker import OUTCOME, predictions_path
from treecrf.trees.treebank import read_trees


def test_a_finished_run_has_its_outcome_and_predicted_trees(plan):
    run = plan.runs()[0]
    outcome = json.loads((run.folder / OUTCOME).read_text())
    assert outcome["best_epoch"] == 1 and outcome["device"] == "CPU" and 0 <= outcome["dev_f"] <= 100
    for part in ("dev", "test"):
        gold = plan.treebank.trees[part]
        for mbr in (True, False):
            predicted = list(read_trees(predictions_path(run.folder, part, mbr=mbr)))
            assert [tree.words for tree in predicted] == [tree.words for tree in gold]


def test_a_worker_exits_with_its_parent_and_prints_errors_in_one_line(plan, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(to_toml(plan.recipe(plan.runs()[0])).replace("train.mrg", "nothing.mrg"))
    command = [sys.executable, "-m", "treecrf.training.reproduce.worker", str(recipe), str(tmp_path / "run"), "cpu"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        _, errors = process.communicate(timeout=60) if process.wait(60) else ("", "")
    assert process.returncode == 1 and "nothing.mrg" in errors and "Traceback" not in errors
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as orphan:
        assert orphan.wait(60) == 1
