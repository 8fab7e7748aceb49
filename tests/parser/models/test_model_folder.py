import json
import os
from collections.abc import Callable
from itertools import count, product
from pathlib import Path

import pytest

from project_models import PACKAGE_OF_MODEL, model_folder
from treecrf.config import tomllib
from treecrf.files import DamagedFileError, read_regular_file
from treecrf.parser import models
from treecrf.parser.models.model_card import ModelCard
from treecrf.parser.models.model_folder import MANIFEST, load_folder, manifest_digest, save_folder
from treecrf.parser.storage import load_parser_state
from treecrf.training.export.package import PackageNames, package_files
from treecrf.trees.treebank.languages import CODES

OLD = {"weights": b"old weights", "words": b"old words", "removed": b"only old"}
NEW = {"weights": b"new weights", "words": b"new words", "added": b"only new"}


class Crash(BaseException):
    """Stands for a crash of the machine."""


def call_before_each_step(patch: pytest.MonkeyPatch, call: Callable[[], None]) -> None:
    """Calls a function before every write to the disk, rename and removal."""

    def patched(function: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **kwargs: object) -> object:
            call()
            return function(*args, **kwargs)

        return step

    patch.setattr(os, "fsync", patched(lambda descriptor: None))
    patch.setattr(Path, "replace", patched(Path.replace))
    patch.setattr(Path, "unlink", patched(Path.unlink))


def save_until(folder: Path, files: dict[str, bytes], steps: int) -> bool:
    """Saves files until a crash after some steps; returns whether the save was complete before."""
    calls = count()

    def crash() -> None:
        if next(calls) >= steps:
            raise Crash

    with pytest.MonkeyPatch.context() as patch:
        call_before_each_step(patch, crash)
        try:
            save_folder(folder, files)
        except Crash:
            return False
    return True


def test_saved_files_are_loaded(tmp_path: Path) -> None:
    save_folder(tmp_path / "a" / "b", OLD)
    assert load_folder(tmp_path / "a" / "b") == OLD
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == {*OLD, MANIFEST}


def test_a_crash_at_any_moment_leaves_the_old_files_or_the_new_files(tmp_path: Path) -> None:
    steps, loaded = 0, []
    is_complete = False
    while not is_complete:
        folder = tmp_path / str(steps)
        save_folder(folder, OLD)
        is_complete = save_until(folder, NEW, steps)
        loaded.append(load_folder(folder))
        digest = manifest_digest(folder)
        save_folder(folder, loaded[-1])
        assert load_folder(folder) == loaded[-1] and manifest_digest(folder) == digest
        steps += 1
    assert steps > 12 and loaded[0] == OLD and loaded[-1] == NEW
    assert loaded == sorted(loaded, key=lambda files: files == NEW)  # one switch from the old files to the new files


def test_a_crash_while_saving_after_a_crash_leaves_complete_files(tmp_path: Path) -> None:
    latest = {name: b"latest" for name in ("words", "added", "third")}
    for first, second in product(range(0, 30, 4), range(0, 40, 5)):
        folder = tmp_path / f"{first} {second}"
        save_folder(folder, OLD)
        save_until(folder, NEW, first)
        before = load_folder(folder)
        save_until(folder, latest, second)
        assert load_folder(folder) in (before, latest)
        save_folder(folder, NEW)
        assert load_folder(folder) == NEW
        assert not [path.name for path in folder.iterdir() if path.name.endswith(".new")]


def test_a_reader_has_one_version_while_another_process_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_folder(tmp_path, OLD)
    loaded: list[dict[str, bytes]] = []
    call_before_each_step(monkeypatch, lambda: loaded.append(load_folder(tmp_path)))
    save_folder(tmp_path, NEW)
    assert OLD in loaded and NEW in loaded
    assert loaded == sorted(loaded, key=lambda files: files == NEW)


def test_a_reader_starts_again_if_the_files_are_replaced_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_folder(tmp_path, OLD)
    read = read_regular_file

    def read_after_a_save(path: Path, max_bytes: int) -> bytes:
        if path.name == "words":
            monkeypatch.undo()
            save_folder(tmp_path, NEW)
        return read(path, max_bytes)

    monkeypatch.setattr("treecrf.parser.models.model_folder.read_regular_file", read_after_a_save)
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


def test_the_registry_lists_the_packages_of_the_repository() -> None:
    assert [package.model for package in models.MODEL_PACKAGES] == list(PACKAGE_OF_MODEL)
    assert {package.language for package in models.MODEL_PACKAGES} <= set(CODES)


@pytest.mark.parametrize("package", models.MODEL_PACKAGES, ids=lambda package: str(package.model))
def test_a_package_of_the_repository_is_what_pack_writes(package: models.ModelPackage) -> None:
    folder = PACKAGE_OF_MODEL[package.model]
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    card, state = ModelCard.load(model_folder(package.model)), load_parser_state(model_folder(package.model))
    assert (package.language, package.license) == (card.purpose.language, card.purpose.license)
    assert (package.name, package.summary) == (project["name"], project["description"])
    files = package_files(PackageNames(name=package.name, version=project["version"]), card, state)
    assert files == {name: (folder / name).read_text(encoding="utf-8") for name in files}
