from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.training.calibration.fit import CalibrationParameters
from treecrf.training.calibration.report import CalibrationReport, read_record, write_record
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
