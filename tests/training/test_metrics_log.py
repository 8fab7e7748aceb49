from pathlib import Path

import pytest

from treecrf.training.metrics_log import Journal, read_metrics

RECORDS = [{"event": "steps", "step": step, "note": "é\n"} for step in range(3)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "metrics.jsonl")
    for record in RECORDS:
        journal.write(record)
    assert read_metrics(tmp_path / "metrics.jsonl") == RECORDS
    assert journal.length == 3


def test_a_new_journal_starts_empty_and_a_resumed_one_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for record in RECORDS:
        (journal := Journal(path, keep=record["step"])).write(record)
    assert read_metrics(path) == RECORDS
    assert Journal(path, keep=2).length == 2
    assert read_metrics(path) == RECORDS[:2]
    Journal(path)
    assert read_metrics(path) == []
    assert journal.length == 3


def test_a_line_cut_short_by_a_crash_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"ste')
    assert read_metrics(path) == [{"step": 1}]


def test_another_file_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("hello\n")
    with pytest.raises(ValueError, match=r"metrics\.jsonl is no journal"):
        read_metrics(path)
