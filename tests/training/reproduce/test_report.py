import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from training.reproduce.tiny_treebank import TINY
from treecrf.training.calibration import KINDS
from treecrf.training.markdown import render
from treecrf.training.reproduce.paper import MARGIN
from treecrf.training.reproduce.plan import Plan
from treecrf.training.reproduce.report import JSON, MARKDOWN, is_at_epoch_limit, plot_analysis, write_report


def test_calibration_is_measured_once_and_plotted(report, plan):
    content = report["tables"]["calibration"]
    assert len(content["temperatures"]) == 2 and content["has_picture"]
    assert (plan.out / "calibration.svg").exists()
    assert content["coverage"]["after"][-1]["coverage"] == 1.0
    record = plan.out / "runs" / "two-stage-1" / "calibration.json"
    written = record.stat().st_mtime_ns
    write_report(plan, device="cpu")
    assert record.stat().st_mtime_ns == written


def test_analysis_has_variants_learning_curve_and_groups(report, plan):
    content = report["tables"]["analysis"]
    assert [line["name"] for line in content["variants"]] == ["as-in-the-paper", "tree", "right", "batch-masks", "bf16"]
    assert [line["title"].split()[0] for line in content["learning"]] == ["10%", "25%", "50%", "75%", "100%"]
    assert [group["name"] for group in content["genre"]] == ["chat", "news"]
    assert content["length"] and content["width"] and content["label"]
    assert "learning curve" in (plan.out / "analysis.svg").read_text()


def test_unfinished_runs_are_left_out(plan, tmp_path):
    unfinished = Plan(treebank=plan.treebank, out=tmp_path / "empty", tables=("dev", "test", "analysis", "calibration"))
    unfinished.write()
    empty = write_report(unfinished)
    assert empty["tables"]["dev"] == {"lines": [], "claims": []} and empty["tables"]["analysis"] == {}


def test_very_small_groups_are_not_plotted(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the package matplotlib is not installed")

    def line(f1: float) -> dict[str, Any]:
        return {"f1": f1, "deviation": None}

    analysis = {
        "learning": [{"title": "100% of the trees", "dev": line(88.0), "test": line(87.0)}],
        "length": [
            {"name": "1-10", "sentences": 2_000, "f1": 90.0},
            {"name": "11-20", "sentences": 4, "f1": 80.0},
            {"name": "201-210", "sentences": 3, "f1": 30.0},
        ],
        "width": [{"name": "33 and more", "gold": 5, "f1": 70.0}],
    }
    assert plot_analysis(analysis, tmp_path / "analysis.svg")
    plot = (tmp_path / "analysis.svg").read_text()
    assert "1-10" in plot and "33+" in plot and "201-210" not in plot


def test_runs_at_the_epoch_limit_are_named(plan, report):
    names = [run.name for run in plan.runs()]
    assert report["facts"]["runs_at_epoch_limit"] == names
    text = (plan.out / MARKDOWN).read_text()
    assert f"{len(names)} of {len(names)} runs ended at the limit of epochs" in text and names[-1] in text


def test_runs_that_ended_by_themselves_are_not_named(plan, report):
    limited, longer = (replace(plan, epochs=epochs, settings=(*TINY, "train.patience=1")) for epochs in (1, 2))
    assert is_at_epoch_limit(limited, limited.runs()[0], {"best_epoch": 1})
    assert not is_at_epoch_limit(longer, longer.runs()[0], {"best_epoch": 1})
    facts = report["facts"] | {"runs_at_epoch_limit": []}
    assert "ended because dev F had stopped rising" in render(
        "reproduce.md", kinds=KINDS, margin=MARGIN, **(report | {"facts": facts})
    )


def test_report_is_written_as_json_and_as_markdown(report, plan):
    facts = json.loads((plan.out / JSON).read_text())["facts"]
    assert facts["sentences"] == {"train": 40, "dev": 15, "test": 10}
    page = (plan.out / MARKDOWN).read_text()
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Dev", "## Remarks of the paper outside its tables, on dev", "## Test", "## Speed", "## Calibration",
        "## Analysis", "## Left out",
    ]  # fmt: skip
    tables = re.findall(r"(?:^\|.*\|$\n)+", page, re.MULTILINE)
    assert all(len({line.count("|") for line in table.splitlines()}) == 1 for table in tables)
