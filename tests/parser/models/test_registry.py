import pytest

from project_models import PACKAGE_OF_MODEL, model_folder
from treecrf.config import tomllib
from treecrf.parser import models
from treecrf.parser.models.model_card import ModelCard
from treecrf.parser.storage import load_parser_state
from treecrf.training.export.package import PackageNames, package_files
from treecrf.trees.treebank.languages import CODES


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
