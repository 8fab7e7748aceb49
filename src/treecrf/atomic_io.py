"""Files that are whole or absent, and folders that know what belongs in them.

A crash at any moment leaves the last complete version readable. Tensors are kept as safetensors and all else as text:
reading a folder never runs anything that is in it.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

MANIFEST = "model.json"
_FORMAT = 1
_NAME = re.compile(r"[\w-][\w.-]*")


class DamagedFileError(ValueError):
    """A file that is not what was saved: cut short, changed, or from elsewhere."""


def write_file(path: Path, data: bytes) -> None:
    """Put a file in place at once: a reader finds the old one or the new one, never a part of it."""
    draft = path.with_name(f".{path.name}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise OSError(
            error.errno, f"{reason}, writing {len(data):,} bytes; what was there before is unchanged", str(path)
        ) from error


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot open a folder
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def save_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files and the manifest that vouches for them, so that the folder is readable at every moment.

    While files are replaced one after the other, the manifest accepts both what was there and what is coming.
    """
    folder.mkdir(parents=True, exist_ok=True)
    digests = {name: [hashlib.sha256(data).hexdigest()] for name, data in files.items()}
    old = _read_manifest(folder) if (folder / MANIFEST).exists() else {}
    if old:
        _write_manifest(folder, {name: sorted({*digests[name], *old.get(name, [])}) for name in digests})
    for name, data in files.items():
        write_file(folder / name, data)
    _write_manifest(folder, digests)


def load_folder(folder: Path) -> dict[str, bytes]:
    """The files of a folder that `save_folder` wrote, each proven to be the one that was saved."""
    if not (folder / MANIFEST).exists():
        raise FileNotFoundError(f"{folder} holds no model: there is no {MANIFEST} in it")
    files: dict[str, bytes] = {}
    for name, digests in _read_manifest(folder).items():
        try:
            files[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            raise DamagedFileError(
                f"{folder / name} is missing, but {MANIFEST} lists it; copy the folder anew"
            ) from None
        digest = hashlib.sha256(files[name]).hexdigest()
        if digest not in digests:
            raise DamagedFileError(
                f"{folder / name} was cut short or changed after it was saved: its SHA-256 is {digest[:12]}..., "
                f"expected {digests[0][:12]}...; copy the folder anew from where it was saved"
            )
    return files


def _write_manifest(folder: Path, digests: Mapping[str, list[str]]) -> None:
    text = json.dumps({"format": _FORMAT, "sha256": digests}, indent=1)
    write_file(folder / MANIFEST, text.encode())


def _read_manifest(folder: Path) -> dict[str, list[str]]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        version, digests = manifest["format"], manifest["sha256"]
        well_formed = all(isinstance(digest, str) for names in digests.values() for digest in names)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DamagedFileError(f"{path} is not the manifest of a model; copy the folder anew") from None
    if version != _FORMAT:
        raise DamagedFileError(f"{path} has format {version!r}; this version of treecrf reads format {_FORMAT}")
    if not well_formed or not all(_NAME.fullmatch(name) for name in digests):
        raise DamagedFileError(f"{path} lists {list(digests)!r:.200}; expected names of files in the same folder")
    return dict(digests)


def pack(tensors: Mapping[str, Tensor], notes: Mapping[str, Any] = MappingProxyType({})) -> bytes:
    """Tensors, and notes that JSON can hold, as one safetensors file."""
    copies = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    return save(copies, {name: json.dumps(note) for name, note in notes.items()})


def unpack(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `pack` was given, from a file."""
    try:
        with safe_open(path, framework="pt") as file:
            notes = {name: json.loads(note) for name, note in (file.metadata() or {}).items()}
            return {name: file.get_tensor(name) for name in file.keys()}, notes  # noqa: SIM118  # it is no dict
    except (SafetensorError, ValueError) as error:
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error}") from None
