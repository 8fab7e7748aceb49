import os
from pathlib import Path

import pytest

from treecrf.corpus.output_record import RECORDS, OutputRecord, setting_changes, stamp_file


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("the cat\n")
    return path


def record(source: Path, **settings: object) -> OutputRecord:
    return OutputRecord({"model": "en", **settings}, str(source), stamp_file(str(source)))


def test_a_record_is_read_back(source: Path, tmp_path: Path) -> None:
    record(source).write(tmp_path / "out.mrg")
    assert (tmp_path / ".out.mrg.run").exists()
    assert OutputRecord.read(tmp_path / "out.mrg") == record(source)
    assert OutputRecord.read(tmp_path / "other.mrg") is None
    (tmp_path / ".out.mrg.run").write_text("{")
    assert OutputRecord.read(tmp_path / "out.mrg") is None


def test_a_run_over_many_inputs_has_one_file_with_the_last_record_of_each_output(source: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"{number}.mrg" for number in range(3)]
    for output in outputs:
        record(source).write(output, is_one_of_many=True)
    with (tmp_path / RECORDS).open("ab") as stream:
        stream.write(b'{"output": "1.mrg", "settings"')  # a crash has cut it off
    record(source, model="zh").write(outputs[0], is_one_of_many=True)
    assert [path.name for path in tmp_path.iterdir() if path != source] == [RECORDS]
    record(source, model="es").write(outputs[2])  # by a run of its own
    models = [OutputRecord.read(output) for output in outputs]
    assert [found and found.settings["model"] for found in models] == ["zh", "en", "es"]
    record(source, model="fr").write(outputs[2], is_one_of_many=True)
    assert OutputRecord.read(outputs[2]) == record(source, model="fr")


def test_another_user_has_records_in_files_of_their_own(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *arguments: object, **options: object) -> None:
        raise PermissionError

    record(source).write(tmp_path / "out.mrg", is_one_of_many=True)
    other = record(source, model="zh")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        other.write(tmp_path / "out.mrg", is_one_of_many=True)
    assert OutputRecord.read(tmp_path / "out.mrg") == record(source, model="zh")


def test_an_output_of_other_settings_or_another_input_is_refused(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mrg"
    with pytest.raises(ValueError, match="has no record of the settings and the input"):
        record(source).check(out)
    record(source).write(out)
    record(source).check(out)
    with pytest.raises(ValueError, match="other settings: model was 'en', not 'zh'; use the same settings"):
        record(source, model="zh").check(out)
    os.utime(source, ns=(1, 1))
    record(source).check(out)  # the same bytes, written again
    source.write_text("the dog\n")
    with pytest.raises(ValueError, match=r"another version of its input: .*in\.txt has changed"):
        record(source).check(out)
    record(source)._replace(stamp=None).write(out)
    with pytest.raises(ValueError, match="has no record"):
        record(source).check(out)


def test_limits_may_change_while_no_line_was_skipped() -> None:
    old = {"skip_bad": False, "max_words": 9, "format": "json"}
    assert not list(setting_changes(old, {"skip_bad": True, "max_words": 10, "format": "json"}))
    assert list(setting_changes(old, {"format": "csv"})) == ["format was 'json', not 'csv'"]
    assert list(setting_changes(old | {"skip_bad": True}, {"skip_bad": True, "max_words": 10})) == [
        "max_words was 9, not 10"
    ]


def test_a_file_that_changes_while_it_is_parsed_is_an_error(source: Path) -> None:
    stamp = stamp_file(str(source))
    stamp.check_unchanged(str(source))
    os.utime(source, ns=(1, 1))
    with pytest.raises(ValueError, match="has changed while it was parsed"):
        stamp.check_unchanged(str(source))
    source.write_text("the cat sang\n")
    assert not stamp.has_content_of(stamp_file(str(source)))
