"""Tests of progress reports."""

import math
from pathlib import Path

import pytest

from small import small_recipe
from treecrf.training import Progress, fit
from treecrf.training.metrics_log import NAME, read_metrics


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
