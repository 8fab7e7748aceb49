from pathlib import Path

import pytest

from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.training.calibration.fit import CalibrationParameters
from treecrf.training.calibration.reliability import SelectionPoint, reliability
from treecrf.training.calibration.report import KINDS, CalibrationReport, plot_reports, read_record, write_record
from treecrf.training.calibration.temperature import Temperatures

REPORT = CalibrationReport(reliability={}, coverage=())


def test_record_is_read_as_written(tmp_path):
    parameters = CalibrationParameters(
        Temperatures(1.5, 2.0), 0.4, BetaCalibration(0.5, 0.6, 0.7), TreeCalibration(d=-0.5)
    )
    write_record(tmp_path, parameters, before=REPORT, after=REPORT)
    record = read_record(tmp_path)
    assert record["temperatures"] == {"spans": 1.5, "labels": 2.0}
    assert (record["f1_threshold"], record["beta"]) == (0.4, {"a": 0.5, "b": 0.6, "c": 0.7})
    assert record["trees"] == {"a": 1.0, "b": 1.0, "c": 0.0, "d": -0.5}


def test_every_report_has_its_error_in_the_legend(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the package matplotlib is not installed")
    reports = {
        name: CalibrationReport(
            reliability=dict.fromkeys(KINDS, reliability([p, p], [True, False])),
            coverage=(SelectionPoint(0.5, 90.0, 0.9), SelectionPoint(1.0, 80.0, 0.1)),
        )
        for name, p in (("before", 0.9), ("after", 0.6))
    }
    plot_reports(reports, tmp_path / "picture.svg")
    picture = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert picture.count("before: error 0.400") >= 3 and picture.count("after: error 0.100") >= 3
