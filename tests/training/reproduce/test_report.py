import json
import re
from dataclasses import replace

import pytest

from training.reproduce.tiny_treebank import TINY, make_treebank, make_vectors
from treecrf.training.reproduce import speed
from treecrf.training.reproduce.ablations import TABLES
from treecrf.training.reproduce.markdown import to_markdown
from treecrf.training.reproduce.plan import Plan, Treebank
from treecrf.training.reproduce.report import JSON, MARKDOWN, is_at_epoch_limit, write_report
from treecrf.training.reproduce.runner import is_finished
from treecrf.training.reproduce.worker import train_and_parse


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """A plan of all tables with finished runs."""
    folder = tmp_path_factory.mktemp("report")
    plan = Plan(
        treebank=Treebank.find(make_treebank(folder / "treebank")),
        out=folder / "out",
        tables=TABLES,
        seeds=(1, 2),
        epochs=1,
        vectors=str(make_vectors(folder / "vectors.txt")),
        unknown_vector="unk",
        settings=TINY,
        corpus="ptb",
    )
    plan.write()
    for run in plan.runs():
        train_and_parse(plan.recipe(run), run.folder, "cpu")
        assert is_finished(plan, run)
    return plan


@pytest.fixture(scope="module")
def report(plan):
    patch = pytest.MonkeyPatch()
    patch.setitem(speed.SENTENCES, "cpu", (20, 10))
    yield write_report(plan, device="cpu", command="treecrf reproduce")
    patch.undo()


def test_dev_table_has_every_row_and_the_published_scores(report):
    lines = {line["name"]: line for line in report["tables"]["dev"]["lines"]}
    assert list(lines) == ["one-stage-margin", "one-stage-crf", "two-stage", "no-mbr", "minus", "vanilla-dropout"]
    for name, line in lines.items():
        assert line["seeds"] == [1, 2] and len(line["f1s"]) == 2 and line["deviation"] is not None
        assert line["f1"] == pytest.approx(sum(line["f1s"]) / 2)
        assert (line["against_main"] is None) == (name == "two-stage")
    assert lines["two-stage"]["paper"]["f1"] == 93.86
    assert len(report["tables"]["dev"]["claims"]) == 5


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
    assert "ended because dev F had stopped rising" in to_markdown({**report, "facts": facts})


def test_remarks_are_compared_with_the_paper(report):
    content = report["tables"]["remarks"]
    assert [line["name"] for line in content["lines"]] == [
        "two-stage", "same-word", "gold-tags", "minus-vanilla-dropout", "one-stage-margin", "margin-0.5", "margin-2",
    ]  # fmt: skip
    assert [(claim["row"], claim["other"]) for claim in content["claims"]][:2] == [
        ("two-stage", "same-word"), ("gold-tags", "two-stage"),
    ]  # fmt: skip


def test_rows_without_their_inputs_are_left_out_of_the_test_table(report):
    names = [line["name"] for line in report["tables"]["test"]["lines"]]
    assert names == ["random", "gold-tags", "vectors", "vectors-gold-tags"]
    assert report["left_out"] == ["frozen encoder: needs --encoder", "fine-tuned encoder: needs --encoder"]


def test_speed_table_has_both_parsers_with_and_without_mbr(report):
    lines = {line["name"]: line for line in report["tables"]["speed"]["lines"]}
    for name in ("two-stage, without MBR", "two-stage, with MBR", "one-stage-crf, with MBR"):
        assert lines[name]["sentences_per_second"] > 0 and "network" in lines[name]["parts"]
    assert lines["two-stage, with MBR"]["paper"] == 743


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
    assert [line["name"] for line in content["variants"]] == ["as-in-the-paper", "right", "batch-masks", "bf16"]
    assert [line["title"].split()[0] for line in content["learning"]] == ["10%", "25%", "50%", "75%", "100%"]
    assert [group["name"] for group in content["genre"]] == ["chat", "news"]
    assert content["length"] and content["width"] and content["label"]
    assert "learning curve" in (plan.out / "analysis.svg").read_text()


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


def test_unfinished_runs_are_left_out(plan, tmp_path):
    unfinished = Plan(treebank=plan.treebank, out=tmp_path / "empty", tables=("dev", "test", "analysis", "calibration"))
    unfinished.write()
    empty = write_report(unfinished)
    assert empty["tables"]["dev"] == {"lines": [], "claims": []} and empty["tables"]["analysis"] == {}
