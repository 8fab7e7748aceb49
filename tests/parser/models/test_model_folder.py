import json
import os
from pathlib import Path

import pytest

from treecrf.files import DamagedFileError
from treecrf.parser.models.model_folder import MANIFEST, load_folder, save_folder

OLD = {"weights": b"old weights", "words": b"old words"}
NEW = {"weights": b"new weights", "words": b"new words"}


class Crash(BaseException):
    """Stands for a crash of the machine."""


def test_saved_files_are_loaded(tmp_path: Path) -> None:
    save_folder(tmp_path / "a" / "b", OLD)
    assert load_folder(tmp_path / "a" / "b") == OLD


@pytest.mark.parametrize("synced", range(8))
def test_a_crash_at_any_moment_of_saving_leaves_a_readable_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: int
) -> None:
    save_folder(tmp_path, OLD)
    syncs = 0

    def fsync(descriptor: int) -> None:
        nonlocal syncs
        syncs += 1
        if syncs > synced:
            raise Crash

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(Crash):
        save_folder(tmp_path, NEW)
    loaded = load_folder(tmp_path)
    assert all(loaded[name] in (OLD[name], NEW[name]) for name in OLD)
    monkeypatch.undo()
    save_folder(tmp_path, NEW)
    assert load_folder(tmp_path) == NEW


def test_old_versions_are_rejected_after_a_complete_save(tmp_path: Path) -> None:
    save_folder(tmp_path, OLD)
    save_folder(tmp_path, NEW)
    (tmp_path / "weights").write_bytes(OLD["weights"])
    with pytest.raises(DamagedFileError, match="weights was cut short or changed"):
        load_folder(tmp_path)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"X" + data[1:], lambda data: b""])
def test_a_damaged_file_is_rejected(tmp_path: Path, damage: object) -> None:
    save_folder(tmp_path, OLD)
    (tmp_path / "weights").write_bytes(damage(OLD["weights"]))  # type: ignore[operator]
    with pytest.raises(DamagedFileError, match=r"weights was cut short or changed .* copy the folder again"):
        load_folder(tmp_path)


def test_the_error_names_a_missing_file(tmp_path: Path) -> None:
    save_folder(tmp_path, OLD)
    (tmp_path / "words").unlink()
    with pytest.raises(DamagedFileError, match="words is missing"):
        load_folder(tmp_path)


def test_a_folder_without_a_manifest_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no model: there is no model\.json"):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    "manifest",
    ["", "[]", "{", '{"format": 2}', '{"format": 2, "sha256": 3}', '{"format": 2, "sha256": {"a": 3}}'],
)
def test_a_broken_manifest_is_rejected(tmp_path: Path, manifest: str) -> None:
    (tmp_path / MANIFEST).write_text(manifest)
    with pytest.raises(DamagedFileError, match="is not the manifest"):
        load_folder(tmp_path)


def test_a_later_format_is_rejected(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"format": 3, "sha256": {}}')
    with pytest.raises(DamagedFileError, match="reads format 2"):
        load_folder(tmp_path)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", ".."])
def test_a_manifest_cannot_name_files_outside_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 2, "sha256": {name: ["0"]}}))
    with pytest.raises(DamagedFileError, match="expected names of files in the same folder"):
        load_folder(tmp_path)
