import errno
import json
import os
from pathlib import Path

import pytest
import torch

from treecrf import atomic_io
from treecrf.atomic_io import MANIFEST, DamagedFileError, load_folder, pack, save_folder, unpack, write_file

OLD = {"weights": b"old weights", "words": b"old words"}
NEW = {"weights": b"new weights", "words": b"new words"}


class Crash(BaseException):
    """The machine goes away."""


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save_folder(tmp_path / "a" / "b", OLD)
    assert load_folder(tmp_path / "a" / "b") == OLD


@pytest.mark.parametrize("survived", range(8))
def test_a_crash_at_any_moment_of_saving_leaves_a_readable_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survived: int
) -> None:
    save_folder(tmp_path, OLD)
    steps = 0

    def fsync(descriptor: int) -> None:
        nonlocal steps
        steps += 1
        if steps > survived:
            raise Crash

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(Crash):
        save_folder(tmp_path, NEW)
    loaded = load_folder(tmp_path)
    assert all(loaded[name] in (OLD[name], NEW[name]) for name in OLD)
    monkeypatch.undo()
    save_folder(tmp_path, NEW)
    assert load_folder(tmp_path) == NEW


def test_a_finished_save_accepts_only_what_it_wrote(tmp_path: Path) -> None:
    save_folder(tmp_path, OLD)
    save_folder(tmp_path, NEW)
    (tmp_path / "weights").write_bytes(OLD["weights"])
    with pytest.raises(DamagedFileError, match="weights was cut short or changed"):
        load_folder(tmp_path)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"X" + data[1:], lambda data: b""])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: object) -> None:
    save_folder(tmp_path, OLD)
    (tmp_path / "weights").write_bytes(damage(OLD["weights"]))  # type: ignore[operator]
    with pytest.raises(DamagedFileError, match=r"weights was cut short or changed .* copy the folder anew"):
        load_folder(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    save_folder(tmp_path, OLD)
    (tmp_path / "words").unlink()
    with pytest.raises(DamagedFileError, match="words is missing"):
        load_folder(tmp_path)


def test_a_folder_without_a_model_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no model: there is no model\.json"):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    "manifest",
    ["", "[]", "{", '{"format": 1}', '{"format": 1, "sha256": 3}', '{"format": 1, "sha256": {"a": 3}}'],
)
def test_a_broken_manifest_is_refused(tmp_path: Path, manifest: str) -> None:
    (tmp_path / MANIFEST).write_text(manifest)
    with pytest.raises(DamagedFileError, match="is not the manifest"):
        load_folder(tmp_path)


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"format": 2, "sha256": {}}')
    with pytest.raises(DamagedFileError, match="reads format 1"):
        load_folder(tmp_path)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", ".."])
def test_a_manifest_cannot_reach_outside_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 1, "sha256": {name: ["0"]}}))
    with pytest.raises(DamagedFileError, match="expected names of files in the same folder"):
        load_folder(tmp_path)


def test_a_full_disk_is_told_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "file", b"old")

    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"No space left on device, writing 3 bytes; what was there .* unchanged.*file"):
        write_file(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_tensors_and_notes_survive(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(6).view(2, 3).t(), "b": torch.tensor(1.5), "c": torch.zeros(0, 4)}
    write_file(tmp_path / "state", pack(tensors, {"epoch": 3, "best": {"f": 0.1}}))
    loaded, notes = unpack(tmp_path / "state")
    assert notes == {"epoch": 3, "best": {"f": 0.1}}
    assert loaded.keys() == tensors.keys() and all(torch.equal(loaded[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize("length", [0, 5, 60, -1])
def test_a_tensor_file_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    (tmp_path / "state").write_bytes(pack({"a": torch.arange(6)})[:length])
    with pytest.raises(DamagedFileError, match="state cannot be read as safetensors"):
        unpack(tmp_path / "state")


def test_equal_tensors_make_equal_bytes() -> None:
    tensors = {"b": torch.arange(6), "a": torch.ones(2)}
    assert pack(tensors) == pack(dict(reversed(tensors.items())))


def test_nothing_here_can_run_what_it_reads() -> None:
    source = Path(atomic_io.__file__).read_text()
    assert "pickle" not in source and "torch.load" not in source
