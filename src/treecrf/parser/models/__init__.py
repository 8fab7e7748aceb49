"""Models by name: embedded in this package, or in installed model packages."""

from treecrf.parser.models.model_folder import (
    FOLDER,
    MODEL_PACKAGES,
    ModelPackage,
    embedded_names,
    find_folder,
    installed_folder,
    is_embedded,
    is_known,
    names,
)

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
