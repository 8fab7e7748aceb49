import json
import re

import pytest

from reproduce.bank import TINY, make_bank, make_vectors
from treecrf.reproduce import speed
from treecrf.reproduce.plan import Plan, Treebank
from treecrf.reproduce.report import JSON, MARKDOWN, report
from treecrf.reproduce.runner import is_finished
from treecrf.reproduce.worker import work


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A plan of all tables, whose runs are done."""
    place = tmp_path_factory.mktemp("report")
    plan = Plan(
        treebank=Treebank.find(make_bank(place / "bank")),
        out=place / "out",
        tables=("dev", "test", "speed", "calibration", "analysis"),
        seeds=(1, 2),
        epochs=2,
        vectors=str(make_vectors(place / "vectors.txt")),
        unknown_vector="unk",
        settings=TINY,
        corpus="ptb",
    )
    plan.write()
    for run in plan.runs():
        work(plan.recipe(run), run.folder, "cpu")
        assert is_finished(plan, run)
    return plan


@pytest.fixture(scope="module")
def found(finished):
    patch = pytest.MonkeyPatch()
    patch.setitem(speed.SENTENCES, "cpu", (20, 10))
    yield report(finished, device="cpu", command="treecrf reproduce")
    patch.undo()


def test_the_dev_table_has_every_row_beside_the_papers(found):
    lines = {line["name"]: line for line in found["tables"]["dev"]["lines"]}
    assert list(lines) == ["one-stage-margin", "one-stage-crf", "two-stage", "no-mbr", "minus", "vanilla-dropout"]
    for name, line in lines.items():
        assert line["seeds"] == [1, 2] and len(line["f1s"]) == 2 and line["deviation"] is not None
        assert line["f1"] == pytest.approx(sum(line["f1s"]) / 2)
        assert (line["against_main"] is None) == (name == "two-stage")
    assert lines["two-stage"]["paper"]["f1"] == 93.86
    assert len(found["tables"]["dev"]["claims"]) == 5


def test_the_test_table_says_what_is_missing_and_why(found):
    assert [line["name"] for line in found["tables"]["test"]["lines"]] == ["random", "vectors"]
    assert found["left_out"] == ["frozen encoder: needs --encoder", "fine-tuned encoder: needs --encoder"]


def test_the_speed_table_has_both_parsers_with_and_without_mbr(found):
    lines = {line["name"]: line for line in found["tables"]["speed"]["lines"]}
    for name in ("two-stage, without MBR", "two-stage, with MBR", "one-stage-crf, with MBR"):
        assert lines[name]["sentences_per_second"] > 0 and "network" in lines[name]["parts"]
    assert lines["two-stage, with MBR"]["paper"] == 743


def test_calibration_is_measured_once_and_drawn(found, finished):
    content = found["tables"]["calibration"]
    assert len(content["temperatures"]) == 2 and content["has_picture"]
    assert (finished.out / "calibration.svg").exists()
    assert content["coverage"]["after"][-1]["coverage"] == 1.0
    record = finished.out / "runs" / "two-stage-1" / "calibration.json"
    written = record.stat().st_mtime_ns
    report(finished, device="cpu")
    assert record.stat().st_mtime_ns == written


def test_the_analysis_looks_from_all_sides(found, finished):
    content = found["tables"]["analysis"]
    assert [line["name"] for line in content["variants"]] == ["as-in-the-paper", "right", "batch-masks", "bf16"]
    assert [line["title"].split()[0] for line in content["learning"]] == ["10%", "25%", "50%", "75%", "100%"]
    assert [group["name"] for group in content["genre"]] == ["chat", "news"]
    assert content["length"] and content["width"] and content["label"]
    assert "learning curve" in (finished.out / "analysis.svg").read_text()


def test_the_report_is_written_for_programs_and_for_people(found, finished):
    kept = json.loads((finished.out / JSON).read_text())
    assert kept["facts"]["sentences"] == {"train": 40, "dev": 15, "test": 10}
    page = (finished.out / MARKDOWN).read_text()
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Dev", "## Test", "## Speed", "## Calibration", "## Analysis", "## Left out",
    ]  # fmt: skip
    tables = re.findall(r"(?:^\|.*\|$\n)+", page, re.MULTILINE)
    assert all(len({line.count("|") for line in table.splitlines()}) == 1 for table in tables)


def test_what_is_not_finished_is_left_out(finished, tmp_path):
    plan = Plan(treebank=finished.treebank, out=tmp_path / "empty", tables=("dev", "test", "analysis", "calibration"))
    plan.write()
    empty = report(plan)
    assert empty["tables"]["dev"] == {"lines": [], "claims": []} and empty["tables"]["analysis"] == {}
