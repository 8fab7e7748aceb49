import errno
import os
from pathlib import Path

import pytest

from treecrf.files import open_atomic, write_file


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
