import pytest


def test_dev_table_has_every_row_and_the_published_scores(report):
    lines = {line["name"]: line for line in report["tables"]["dev"]["lines"]}
    assert list(lines) == ["one-stage-margin", "one-stage-crf", "two-stage", "no-mbr", "minus", "vanilla-dropout"]
    for name, line in lines.items():
        assert line["seeds"] == [1, 2] and len(line["f1s"]) == 2 and line["deviation"] is not None
        assert line["f1"] == pytest.approx(sum(line["f1s"]) / 2)
        assert (line["against_main"] is None) == (name == "two-stage")
    assert lines["two-stage"]["paper"]["f1"] == 93.86
    assert len(report["tables"]["dev"]["claims"]) == 5


def test_remarks_are_compared_with_the_paper(report):
    content = report["tables"]["remarks"]
    assert [line["name"] for line in content["lines"]] == [
        "two-stage", "right", "same-word", "gold-tags", "minus-vanilla-dropout", "one-stage-margin", "margin-0.5",
        "margin-2",
    ]  # fmt: skip
    assert [(claim["row"], claim["other"]) for claim in content["claims"]][:3] == [
        ("two-stage", "right"), ("two-stage", "same-word"), ("gold-tags", "two-stage"),
    ]  # fmt: skip


def test_rows_without_their_inputs_are_left_out_of_the_test_table(report):
    names = [line["name"] for line in report["tables"]["test"]["lines"]]
    assert names == ["random", "gold-tags", "vectors", "vectors-gold-tags"]
    assert report["left_out"] == ["frozen encoder: needs --encoder", "fine-tuned encoder: needs --encoder"]
