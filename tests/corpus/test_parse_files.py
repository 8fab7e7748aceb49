import io
import os
import sys
from pathlib import Path

import pytest

from toygrammar import toy_trees
from treecrf.corpus import parse_files as module
from treecrf.corpus.inputs import InputFile
from treecrf.corpus.options import ParseOptions
from treecrf.corpus.parse_files import parse_files

TREES = toy_trees(30, seed=3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{' '.join(tree.words)}\n" for tree in TREES))
    return path


def parse(model: Path, *inputs: object, output: object = "-", resume: bool = False, **options) -> list[str]:
    """Parses files and returns the warnings."""
    warnings: list[str] = []
    settings = ParseOptions(model=str(model), tokens=True, **options)
    arguments = [str(path) for path in inputs]
    parse_files(arguments, str(output), settings, device="cpu", resume=resume, warn=warnings.append)
    return warnings


def test_one_input_has_a_file_and_a_folder_has_a_folder(model: Path, file: Path, tmp_path: Path) -> None:
    parse(model, file, output=tmp_path / "out.mrg")
    assert (tmp_path / "out.mrg").read_text().count("\n") == len(TREES)
    parse(model, tmp_path / "in*.txt", output=tmp_path / "one.mrg")
    (tmp_path / "texts").mkdir()
    file.rename(tmp_path / "texts" / "in.txt")
    parse(model, tmp_path / "texts", output=tmp_path / "trees")
    parse(model, tmp_path / "texts" / "in.txt", output=f"{tmp_path}/more/")
    expected = (tmp_path / "out.mrg").read_bytes()
    for name in ("one.mrg", "trees/in.mrg", "more/in.mrg"):
        assert (tmp_path / name).read_bytes() == expected


def test_a_complete_output_is_skipped_and_another_is_refused(model: Path, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mrg"
    parse(model, file, output=out)
    written = out.stat().st_mtime_ns
    parse(model, file, output=out, resume=True)
    assert out.stat().st_mtime_ns == written
    with pytest.raises(ValueError, match="other settings: no_mbr was False, not True"):
        parse(model, file, output=out, resume=True, no_mbr=True)
    (tmp_path / ".out.mrg.part").touch()  # an empty partial file is unfinished, whatever the record says
    parse(model, file, output=out, resume=True, no_mbr=True)
    assert out.stat().st_mtime_ns != written


def test_standard_input_cannot_be_resumed(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the cat\n")))
    with pytest.raises(ValueError, match="--resume reads its inputs again, and <stdin> is not a file"):
        parse(model, "-", output=tmp_path / "out", resume=True)


def test_bad_lines_are_warned_about(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"the cat\n\xff\n")
    (warning,) = parse(model, tmp_path / "in.txt", output=tmp_path / "out", skip_bad=True)
    assert warning.startswith(f"{tmp_path / 'in.txt'}:2: byte 1")


def test_progress_is_shown_where_the_terminal_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [(InputFile("in.txt", Path("in.txt")), None)]
    assert not module._shows_progress("out.mrg", jobs)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert module._shows_progress("out.mrg", jobs)
    reader, writer = os.pipe()
    with (tmp_path / "out").open("w") as regular, os.fdopen(reader), os.fdopen(writer, "w") as pipe:
        for stream, is_shown in ((regular, True), (pipe, False)):
            monkeypatch.setattr(sys, "stdout", stream)
            assert module._shows_progress("-", jobs) == is_shown
    typed = io.StringIO()
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)
    assert not module._shows_progress("out.mrg", [(InputFile("-", Path("stdin")), None)])


def test_a_folder_of_outputs_is_locked(
    model: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[Path] = []
    real = module.lock_folder
    monkeypatch.setattr(module, "lock_folder", lambda folder: locked.append(folder) or real(folder))
    parse(model, file, output=tmp_path / "out.mrg")
    parse(model, file)
    assert not locked
    parse(model, file, output=f"{tmp_path}/trees/")
    assert locked == [tmp_path / "trees"]
