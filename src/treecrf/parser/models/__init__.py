"""Models by name: embedded in this package, or in installed model packages.

Every function looks at the embedded models first, so a package cannot replace one of them.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from treecrf.parser.models.model_folder import MANIFEST
from treecrf.parser.models.registry import MODEL_PACKAGES, NAME, ModelPackage

if TYPE_CHECKING:
    from treecrf.parser.models.entry_points import PackagedModel

FOLDER = Path(__file__).parent  # folder of the embedded models

__all__ = [
    "FOLDER",
    "MODEL_PACKAGES",
    "ModelPackage",
    "embedded_names",
    "find_folder",
    "installed_folder",
    "is_embedded",
    "is_known",
    "names",
]


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
            raise FileNotFoundError(f"the model '{name}' is not installed: pip install {package.name}")
    raise FileNotFoundError(
        f"there is no model '{name}': no folder has that name, and the installed models are "
        f"{', '.join(names()) or 'none'}; `treecrf models` also lists the models of packages that are not installed"
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
