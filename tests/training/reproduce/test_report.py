from treecrf.training.reproduce.plan import Plan
from treecrf.training.reproduce.report import write_report


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


def test_unfinished_runs_are_left_out(plan, tmp_path):
    unfinished = Plan(treebank=plan.treebank, out=tmp_path / "empty", tables=("dev", "test", "analysis", "calibration"))
    unfinished.write()
    empty = write_report(unfinished)
    assert empty["tables"]["dev"] == {"lines": [], "claims": []} and empty["tables"]["analysis"] == {}
