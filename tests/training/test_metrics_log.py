import math
from pathlib import Path

import pytest

from small import small_recipe
from treecrf.training import Progress, fit
from treecrf.training.metrics_log import NAME, MetricsLog, read_metrics

RECORDS = [{"event": "steps", "step": step, "note": "é\n"} for step in range(3)]


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    for record in RECORDS:
        log.write(record)
    assert read_metrics(tmp_path / "metrics.jsonl") == RECORDS
    assert log.length == 3


def test_a_new_log_starts_empty_and_a_resumed_log_keeps_its_records(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for record in RECORDS:
        (log := MetricsLog(path, keep=record["step"])).write(record)
    assert read_metrics(path) == RECORDS
    assert MetricsLog(path, keep=2).length == 2
    assert read_metrics(path) == RECORDS[:2]
    MetricsLog(path)
    assert read_metrics(path) == []
    assert log.length == 3


def test_a_line_cut_short_by_a_crash_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"ste')
    assert read_metrics(path) == [{"step": 1}]


def test_a_file_of_another_format_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("hello\n")
    with pytest.raises(ValueError, match=r"metrics\.jsonl is not the metrics log"):
        read_metrics(path)


def test_the_callback_gets_the_progress_of_the_run(tmp_path: Path) -> None:
    reports: list[Progress] = []
    fit(small_recipe(epochs=2), tmp_path, device="cpu", watch=reports.append)
    steps = [progress for progress in reports if progress.record is None]
    assert [(progress.epoch, progress.batch) for progress in steps] == [
        (epoch, batch) for epoch in (1, 2) for batch in range(1, steps[0].batches + 1)
    ]
    assert steps[-1].seconds_left == pytest.approx(0) and steps[0].seconds_left > 0
    assert all(progress.sentences_per_second > 0 and math.isfinite(progress.loss) for progress in steps)
    assert [progress.record for progress in reports if progress.record] == read_metrics(tmp_path / NAME)
