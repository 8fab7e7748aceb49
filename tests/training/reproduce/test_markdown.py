import json
import re
from dataclasses import replace

from training.reproduce.tiny_treebank import TINY
from treecrf.training.reproduce.markdown import to_markdown
from treecrf.training.reproduce.report import JSON, MARKDOWN, is_at_epoch_limit


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
