import hashlib
import os
from pathlib import Path

import pytest

from treecrf.files import DamagedFileError, file_digest, parse_json, read_regular_file, real_path


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
        (b'{"a": NaN}', "it contains NaN"),
        (b"[1", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "too deeply"),
    ],
)
def test_damaged_json_is_one_error_with_the_name_of_the_file(data: bytes, reason: str) -> None:
    with pytest.raises(DamagedFileError, match=f"model.json .*{reason}"):
        parse_json(data, Path("model.json"))
    assert parse_json(b'{"a": [1.5]}', Path("model.json")) == {"a": [1.5]}
