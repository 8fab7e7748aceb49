"""Model folders: found by the name of a model, and files with a manifest of their checksums.

A model is embedded in this package, or it belongs to an installed model package. Embedded models come first, so a
package cannot replace one of them. `packages.toml` lists the model packages of this project.

A folder has exactly one version at every moment. Saving writes the new files under hidden names first, and then
replaces the manifest by one that is marked as staged: from then on the hidden files are the version of the folder.
Last, each file gets its own name, and the manifest loses the mark.
"""

import difflib
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treecrf.config import read_data
from treecrf.files import (
    MAX_FILE_BYTES,
    DamagedFileError,
    lock_file,
    parse_json,
    read_regular_file,
    rename_file,
    write_file,
)
from treecrf.trees.treebank.languages import CODES

if TYPE_CHECKING:
    from treecrf.parser.models.entry_points import PackagedModel

FOLDER = Path(__file__).parent  # folder of the embedded models
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")  # name of a model
PREFIX = "treecrf-"  # prefix of the names of model packages
MANIFEST = "model.json"
_FORMAT = 2
_FILE_NAME = re.compile(r"[\w-][\w.-]*")
_MAX_FILES = 100  # files per folder
_MAX_MANIFEST_BYTES = 1 << 16


class ModelPackage(NamedTuple):
    """A model package of this project."""

    model: str
    language: str
    license: str
    summary: str

    @property
    def name(self) -> str:
        return PREFIX + self.model


MODEL_PACKAGES = tuple(ModelPackage(model, **table) for model, table in read_data(__file__, "packages.toml").items())


def embedded_names() -> list[str]:
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{MANIFEST}"))


def names() -> list[str]:
    """The names of all models that are installed, for `Parser.load`."""
    return sorted({*embedded_names(), *(model.name for model in _packaged_models())})


def is_embedded(name: str) -> bool:
    return NAME.fullmatch(name) is not None and (FOLDER / name / MANIFEST).is_file()


def is_known(name: str) -> bool:
    """Whether a model is one of this project, embedded or in a package. Packages are not searched."""
    return is_embedded(name) or any(package.model == name for package in MODEL_PACKAGES)


def installed_folder(name: str) -> Path:
    """The folder of an embedded model, or else of the model of an installed package."""
    if is_embedded(name):
        return FOLDER / name
    models = [model for model in _packaged_models() if model.name == name]
    if len(models) > 1:
        packages = " and ".join(model.package for model in models)
        raise ValueError(f"the packages {packages} have a model '{name}' each; uninstall all but one of them")
    if models:
        return models[0].folder()
    for package in MODEL_PACKAGES:
        if package.model == name:
            raise FileNotFoundError(
                f"the model '{name}' is not installed: pip install {package.name}, from treecrf's repository "
                f"pip install packages/{package.name}, or pip install --find-links FOLDER {package.name} with its wheel"
            )
    installed = names()
    others = [package.model for package in MODEL_PACKAGES if package.model not in installed]
    near = [CODES.get(name.title(), ""), *difflib.get_close_matches(name.lower(), installed + others, n=1)]
    suggestion = next((f"; did you mean '{model}'?" for model in near if model), ":")
    raise FileNotFoundError(
        f"there is no model '{name}'{suggestion} no folder has that name, and the installed models are "
        f"{', '.join(installed) or 'none'}{'; packages have ' if others else ''}{', '.join(others)}"
    )


def find_folder(source: str | Path) -> Path:
    """The folder of a parser, or of an installed model by its name."""
    path = Path(source)
    return path if path.is_dir() else installed_folder(str(source))


def _packaged_models() -> "Iterator[PackagedModel]":
    """The models of packages; a warning names each one that cannot be used by its name."""
    # imported here, because importlib.metadata takes time that an embedded model does not need
    from treecrf.parser.models.entry_points import packaged_models

    for model in packaged_models():
        if NAME.fullmatch(model.name) is None:
            problem = "; expected lower-case letters, digits and hyphens"
        elif is_embedded(model.name):
            problem = ", which is also the name of an embedded model; the embedded model is used"
        else:
            yield model
            continue
        warnings.warn(f"the package {model.package} has a model {model.name!r:.100}{problem}", stacklevel=2)


class _Manifest(NamedTuple):
    """The SHA-256 of each file. The files of a staged version may still have their hidden names."""

    digests: Mapping[str, str]
    is_staged: bool = False

    def to_json(self) -> bytes:
        fields = {"format": _FORMAT, "sha256": {name: [digest] for name, digest in self.digests.items()}}
        return json.dumps(fields | ({"staged": True} if self.is_staged else {}), indent=1).encode()


def save_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files and a manifest; a reader, also after a crash, gets all old files or all new files."""
    folder.mkdir(parents=True, exist_ok=True)
    with lock_file(folder / MANIFEST):
        if (folder / MANIFEST).exists():
            current = _read_manifest(folder)
            if current.is_staged:  # another process crashed after its version was complete
                _unstage(folder, current)
        for stale_file in folder.glob(_staged_name("*")):
            stale_file.unlink()
        for name, data in files.items():
            write_file(folder / _staged_name(name), data)
        manifest = _Manifest({name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, is_staged=True)
        write_file(folder / MANIFEST, manifest.to_json())
        _unstage(folder, manifest)


def _unstage(folder: Path, manifest: _Manifest) -> None:
    for name in manifest.digests:
        with suppress(FileNotFoundError):  # renamed before a crash
            rename_file(folder / _staged_name(name), folder / name)
    write_file(folder / MANIFEST, manifest._replace(is_staged=False).to_json())


def _staged_name(name: str) -> str:
    return f".{name}.new"


def load_folder(folder: Path, max_bytes: Mapping[str, int] | None = None) -> dict[str, bytes]:
    """Reads the files of a folder that `save_folder` wrote, and checks their checksums.

    `max_bytes` has the largest size of a file by its name; other files may have 64 MiB.
    """
    if not os.path.lexists(folder / MANIFEST):
        raise FileNotFoundError(f"{folder} holds no model: there is no {MANIFEST} in it")
    while True:
        manifest = _read_manifest(folder)
        try:
            return {
                name: _read_file(folder, name, manifest, (max_bytes or {}).get(name, MAX_FILE_BYTES))
                for name in manifest.digests
            }
        except DamagedFileError:
            if _read_manifest(folder) == manifest:  # otherwise another process has replaced the files
                raise


def _read_file(folder: Path, name: str, manifest: _Manifest, max_bytes: int) -> bytes:
    for file_name in [_staged_name(name), name] if manifest.is_staged else [name]:
        with suppress(FileNotFoundError):
            data = read_regular_file(folder / file_name, max_bytes)
            break
    else:
        raise DamagedFileError(f"{folder / name} is missing, but {MANIFEST} lists it; copy the folder again")
    digest = hashlib.sha256(data).hexdigest()
    if digest != manifest.digests[name]:
        raise DamagedFileError(
            f"{folder / name} was cut short or changed after it was saved: its SHA-256 is {digest[:12]}..., "
            f"expected {manifest.digests[name]:.12}...; copy the folder again from where it was saved"
        )
    return data


def manifest_digest(folder: Path) -> str:
    """The SHA-256 of a folder's complete manifest, which has the checksums of its files."""
    return hashlib.sha256(_read_manifest(folder)._replace(is_staged=False).to_json()).hexdigest()


def _read_manifest(folder: Path) -> _Manifest:
    path = folder / MANIFEST
    data = read_regular_file(path, _MAX_MANIFEST_BYTES)
    try:
        values = parse_json(data, path)
        version, is_staged = values["format"], values.get("staged", False) is True
        digests = {name: digest for name, (digest,) in values["sha256"].items()}
        is_well_formed = all(isinstance(digest, str) for digest in digests.values())
    except (DamagedFileError, KeyError, TypeError, AttributeError, ValueError):
        is_well_formed = False
    if not is_well_formed:
        raise DamagedFileError(f"{path} is not the manifest of a model; copy the folder again")
    if version != _FORMAT:
        raise DamagedFileError(f"{path} has format {version!r:.20}; this version of treecrf reads format {_FORMAT}")
    if not all(_FILE_NAME.fullmatch(name) for name in digests):
        raise DamagedFileError(f"{path} lists {list(digests)!r:.200}; expected names of files in the same folder")
    if len(digests) > _MAX_FILES:
        raise DamagedFileError(f"{path} lists {len(digests):,} files; expected at most {_MAX_FILES}")
    return _Manifest(digests, is_staged)
