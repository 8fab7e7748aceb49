"""Models of installed packages, by entry points.

A model package has entry points in the group `treecrf.models`. The name of an entry point is the name of a model, and
its value is a top-level module. The folder of the module has a folder with the name of the model, which is the model.
The module is found without importing it, so finding a model runs no code of its package.
"""

import re
import warnings
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from treecrf.parser.models.model_folder import MANIFEST

GROUP = "treecrf.models"
_ENTRY_POINTS = "entry_points.txt"


class PackagedModel(NamedTuple):
    """A model that an installed package declares. The package may be broken."""

    name: str
    module: str
    package: str

    def folder(self) -> Path:
        """The folder of the model; an error says what the package lacks."""
        if not self.module.isidentifier():
            raise ValueError(
                f"the package {self.package} has the model '{self.name}' in {self.module!r:.100}; expected the name of "
                "a module"
            )
        for location in _module_folders(self.module):
            if (location / self.name / MANIFEST).is_file():
                return location / self.name
        raise FileNotFoundError(
            f"the package {self.package} has no model '{self.name}': expected {self.module}/{self.name}/{MANIFEST}; "
            "install the package again"
        )


def packaged_models() -> Iterator[PackagedModel]:
    """The models that installed packages declare. If a package is on the path twice, the first one counts."""
    packages: set[str | None] = set()
    for distribution in distributions():
        if GROUP not in _entry_point_text(distribution):
            continue
        package = _package_name(distribution)
        if package is None or package not in packages:
            packages.add(package)
            yield from _declared_models(distribution, package or "without a name")


def _declared_models(distribution: Distribution, package: str) -> Iterator[PackagedModel]:
    try:
        entries = distribution.entry_points.select(group=GROUP)
    except (AttributeError, TypeError, ValueError) as error:  # what importlib.metadata raises for a damaged file
        warnings.warn(
            f"the package {package} has no readable {_ENTRY_POINTS} ({error!s:.100}); its models are ignored; "
            "install it again or uninstall it",
            stacklevel=2,
        )
        return
    for entry in entries:
        yield PackagedModel(name=entry.name, module=entry.value, package=package)


def _package_name(distribution: Distribution) -> str | None:
    """The normalized name of a package, which pip and setuptools may write in different ways."""
    try:
        metadata = distribution.metadata
        return re.sub(r"[-_.]+", "-", metadata["Name"]).lower() if "Name" in metadata else None
    except (TypeError, FileNotFoundError):  # importlib.metadata raises these if there is no file METADATA
        return None


def _entry_point_text(distribution: Distribution) -> str:
    """The text of a package's entry points. Text that is not UTF-8 has no model of ours."""
    try:
        return distribution.read_text(_ENTRY_POINTS) or ""
    except ValueError:
        return ""


def _module_folders(module: str) -> list[Path]:
    """The folders of a top-level module, which is not imported."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # a module without a specification, such as __main__
        return []
    return [] if spec is None else list(map(Path, spec.submodule_search_locations or ()))
