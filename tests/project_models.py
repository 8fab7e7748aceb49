"""The models of this repository: those that are embedded in treecrf, and those in packages/."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from treecrf.parser import models
from treecrf.parser.models.model_card import ModelCard
from treecrf.trees.treebank.languages import CODES

ROOT = Path(__file__).parent.parent
PACKAGES = sorted((ROOT / "packages").glob("treecrf-*"))
PACKAGE_OF_MODEL = {package.name.removeprefix("treecrf-"): package for package in PACKAGES}
PROJECT_MODELS = [*models.embedded_names(), *PACKAGE_OF_MODEL]


def model_folder(name: str) -> Path:
    """The folder of a model in this repository, whether it is installed or not."""
    if name not in PACKAGE_OF_MODEL:
        return models.FOLDER / name
    return PACKAGE_OF_MODEL[name] / "src" / PACKAGE_OF_MODEL[name].name.replace("-", "_") / name


# models whose labels and tags have explanations
EXPLAINED_MODELS = {
    name: CODES[language]
    for name in PROJECT_MODELS
    if (language := ModelCard.load(model_folder(name)).purpose.language) in CODES
}


def installed_models(project_models: Iterable[str] = PROJECT_MODELS) -> list[object]:
    """Parameters of a test that needs installed models; it skips those that are not installed."""
    names = models.names()
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                name not in names, reason=f"the model is not installed: pip install --no-deps ./packages/treecrf-{name}"
            ),
        )
        for name in project_models
    ]
