"""Model folders: files with a manifest of their checksums."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treecrf.files import MAX_FILE_BYTES, DamagedFileError, lock_file, parse_json, read_regular_file, write_file

MANIFEST = "model.json"
_FORMAT = 2
_FILE_NAME = re.compile(r"[\w-][\w.-]*")
_MAX_FILES = 100  # of a folder with a manifest
_MAX_MANIFEST_BYTES = 1 << 16


def save_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files and a manifest with their checksums; the folder can be read at every moment.

    While the files are replaced one after the other, the manifest accepts both the old and the new version of each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with lock_file(folder / MANIFEST):
        _replace_files(folder, files)


def _replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    digests = {name: [hashlib.sha256(data).hexdigest()] for name, data in files.items()}
    old_digests = _read_manifest(folder) if (folder / MANIFEST).exists() else {}
    if old_digests:
        _write_manifest(folder, {name: sorted({*digests[name], *old_digests.get(name, [])}) for name in digests})
    for name, data in files.items():
        write_file(folder / name, data)
    _write_manifest(folder, digests)


def load_folder(folder: Path, max_bytes: Mapping[str, int] | None = None) -> dict[str, bytes]:
    """Reads the files of a folder that `save_folder` wrote, and checks their checksums.

    `max_bytes` has the largest size of a file by its name; other files may have 64 MiB.
    """
    if not os.path.lexists(folder / MANIFEST):
        raise FileNotFoundError(f"{folder} holds no model: there is no {MANIFEST} in it")
    files: dict[str, bytes] = {}
    for name, digests in _read_manifest(folder).items():
        try:
            files[name] = read_regular_file(folder / name, (max_bytes or {}).get(name, MAX_FILE_BYTES))
        except FileNotFoundError:
            raise DamagedFileError(
                f"{folder / name} is missing, but {MANIFEST} lists it; copy the folder again"
            ) from None
        digest = hashlib.sha256(files[name]).hexdigest()
        if digest not in digests:
            raise DamagedFileError(
                f"{folder / name} was cut short or changed after it was saved: its SHA-256 is {digest[:12]}..., "
                f"expected {digests[0]:.12}...; copy the folder again from where it was saved"
            )
    return files


def manifest_digest(folder: Path) -> str:
    """The SHA-256 of a folder's manifest, which has the checksums of its files."""
    return hashlib.sha256(read_regular_file(folder / MANIFEST, _MAX_MANIFEST_BYTES)).hexdigest()


def _is_digest_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(digest, str) for digest in value)


def _write_manifest(folder: Path, digests: Mapping[str, list[str]]) -> None:
    text = json.dumps({"format": _FORMAT, "sha256": digests}, indent=1)
    write_file(folder / MANIFEST, text.encode())


def _read_manifest(folder: Path) -> dict[str, list[str]]:
    path = folder / MANIFEST
    data = read_regular_file(path, _MAX_MANIFEST_BYTES)
    try:
        manifest = parse_json(data, path)
        version, digests = manifest["format"], manifest["sha256"]
        is_well_formed = all(map(_is_digest_list, digests.values()))
    except (DamagedFileError, KeyError, TypeError, AttributeError):
        is_well_formed = False
    if not is_well_formed:
        raise DamagedFileError(f"{path} is not the manifest of a model; copy the folder again")
    if version != _FORMAT:
        raise DamagedFileError(f"{path} has format {version!r:.20}; this version of treecrf reads format {_FORMAT}")
    if not all(_FILE_NAME.fullmatch(name) for name in digests):
        raise DamagedFileError(f"{path} lists {list(digests)!r:.200}; expected names of files in the same folder")
    if len(digests) > _MAX_FILES:
        raise DamagedFileError(f"{path} lists {len(digests):,} files; expected at most {_MAX_FILES}")
    return dict(digests)
