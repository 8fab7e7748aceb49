from pathlib import Path

import pytest

from treecrf.training.calibration.plot import plot_reports
from treecrf.training.calibration.reliability import CoveragePoint, reliability
from treecrf.training.calibration.report import KINDS, CalibrationReport


def test_every_report_has_its_error_in_the_legend(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the package matplotlib is not installed")
    reports = {
        name: CalibrationReport(
            reliability=dict.fromkeys(KINDS, reliability([p, p], [True, False])),
            coverage=(CoveragePoint(0.5, 90.0, 0.9), CoveragePoint(1.0, 80.0, 0.1)),
        )
        for name, p in (("before", 0.9), ("after", 0.6))
    }
    plot_reports(reports, tmp_path / "picture.svg")
    picture = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert picture.count("before: error 0.400") >= 3 and picture.count("after: error 0.100") >= 3
