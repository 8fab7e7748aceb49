import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import treecrf
from treecrf.files import (
    DamagedFileError,
    LockedError,
    file_digest,
    isolated_python,
    lock_file,
    lock_folder,
    open_atomic,
    open_locked,
    parse_json,
    read_regular_file,
    real_path,
    write_file,
)


def test_a_full_disk_is_an_error_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "file", b"old")

    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"No space left on device, writing 3 bytes; the previous .* unchanged.*file"):
        write_file(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_an_exception_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    write_file(tmp_path / "file", b"old")
    with pytest.raises(RuntimeError), open_atomic(tmp_path / "file") as stream:
        stream.write(b"new")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    with open_atomic(tmp_path / "file") as stream:
        stream.write(b"half")
        assert [path.name for path in tmp_path.iterdir()] == [".file.tmp"]
    assert (tmp_path / "file").read_bytes() == b"half"


def test_a_device_is_written_directly() -> None:
    write_file(Path(os.devnull), b"nothing")
    assert Path(os.devnull).is_char_device()


pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows locks open files by itself")
HOLD = "import sys; from pathlib import Path; from treecrf.files import lock_file\nwith lock_file(Path(sys.argv[1])): "


def test_a_locked_file_names_the_process_that_writes_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with lock_file(out):
        assert [path.name for path in tmp_path.iterdir()] == [".out.lock"]
        with pytest.raises(
            LockedError, match=rf"out is being written by process {os.getpid()} on .*; wait until it ends"
        ):
            lock_file(out).__enter__()
    assert list(tmp_path.iterdir()) == []
    with lock_file(out):
        pass


def test_a_lock_holds_between_processes_and_ends_with_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD + "print('locked', flush=True); input()", str(tmp_path / "out")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        with pytest.raises(LockedError, match=f"process {process.pid} on"):
            lock_file(tmp_path / "out").__enter__()
        process.kill()
    with lock_file(tmp_path / "out"):
        pass


def test_an_empty_folder_is_removed_with_its_lock(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b" / ".treecrf.lock").is_file()
    assert not (tmp_path / "a" / "b").exists()
    with lock_folder(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "trees").touch()
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["trees"]


def test_a_draft_without_a_name_is_locked_by_another_process(tmp_path: Path) -> None:
    with open_locked(tmp_path / "draft", tmp_path / "out") as stream:
        stream.write(b"content")
        with pytest.raises(LockedError, match="out is being written by another process; wait"):
            open_locked(tmp_path / "draft", tmp_path / "out")
    with open_locked(tmp_path / "draft", tmp_path / "out") as stream:
        assert stream.read() == b"content"  # it is not truncated


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular_file(tmp_path / "file", 5) == b"12345"
    with pytest.raises(DamagedFileError, match="file has 5 bytes; expected at most 4"):
        read_regular_file(tmp_path / "file", 4)


@pytest.mark.skipif(os.name != "posix", reason="needs links and pipes")
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DamagedFileError, match=r"link is a link; expected a regular file \(cp -rL"):
        read_regular_file(tmp_path / "link")
    for path, kind in ((tmp_path / "pipe", "a pipe"), (tmp_path, "a folder"), (Path(os.devnull), "a device")):
        with pytest.raises(DamagedFileError, match=f"{kind}; expected a regular file$"):
            read_regular_file(path)
    assert real_path(tmp_path / "link") == real_path(tmp_path) / "file" and real_path(tmp_path / "loop").name == "loop"


@pytest.mark.skipif(not hasattr(os, "SEEK_HOLE"), reason="the system does not tell holes")
def test_a_file_of_holes_is_an_error(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as stream:
        stream.truncate(1 << 21)
        if os.lseek(stream.fileno(), 0, os.SEEK_HOLE) != 0:
            pytest.skip("the file system does not tell holes")
    with pytest.raises(DamagedFileError, match="most of its bytes are holes"):
        read_regular_file(tmp_path / "file")
    (tmp_path / "full").write_bytes(b"x" * (1 << 21))
    assert len(read_regular_file(tmp_path / "full")) == 1 << 21


def test_a_digest_covers_the_whole_file(tmp_path: Path) -> None:
    data = b"x" * (1 << 20) + b"yz"
    (tmp_path / "file").write_bytes(data)
    assert file_digest(tmp_path / "file") == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": NaN}', "NaN is not a value of JSON"),
        (b"[1", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "too deeply"),
    ],
)
def test_damaged_json_is_one_error_with_the_name_of_the_file(data: bytes, reason: str) -> None:
    with pytest.raises(DamagedFileError, match=f"model.json .*{reason}"):
        parse_json(data, Path("model.json"))
    assert parse_json(b'{"a": [1.5]}', Path("model.json")) == {"a": [1.5]}


@pytest.mark.parametrize("where", ["..", ".", "link"])
def test_an_isolated_program_runs_no_code_from_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str
) -> None:
    """Neither modules, whatever path leads to them, nor what Python's variables name."""
    for name in ("json", "random", "sitecustomize", "usercustomize", "numpy", "treecrf", "_matcher"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('executed')")
    (tmp_path / "start.pth").write_text("import treecrf")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / ("deeper" if where == ".." else ""))
    folder = tmp_path / "link" if where == "link" else Path.cwd()
    monkeypatch.setattr(sys, "path", ["", ".", str(folder), *sys.path])
    for name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONUSERBASE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PYTHONINSPECT", "1")
    program = "import json, random, numpy, treecrf.trees.search; print(treecrf.__file__, sys.argv[1:])"
    result = subprocess.run([*isolated_python(program), "a", "b"], capture_output=True, text=True, check=True)
    assert result.stdout == f"{treecrf.__file__} ['a', 'b']\n" and not result.stderr
