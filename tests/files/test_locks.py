import os
import subprocess
import sys
from pathlib import Path

import pytest

from treecrf.files import LockedError, lock_file, lock_folder
from treecrf.files.locks import open_locked

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
