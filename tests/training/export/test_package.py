"""Model packages from model folders."""

import subprocess
import sys
from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf import Parser
from treecrf.cli import main
from treecrf.config import tomllib
from treecrf.parser.models.model_card import ModelCard

TEXTS = """
summary = "A parser of \\"toys\\". It is small."
language = "English"
license = "free"
license_reason = "it is a toy"
license_id = "CC0-1.0"
license_text = "Do what you like."
uses = "Play."
limits = []
tests = []
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    random_parser(toy_trees(5)).save(folder)
    return folder


def pack(*arguments: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["pack", *map(str, arguments)])
    return ended.value.code


def test_a_model_without_a_card_becomes_a_package_that_registries_refuse(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "packages" / "treecrf-my-toy"
    assert pack(model, out, "--package") is None
    assert capsys.readouterr().out.startswith(f"The package treecrf-my-toy 0.1.0 is in {out}. To install it: pip")
    project = tomllib.loads((out / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {"treecrf.models": {"my-toy": "treecrf_my_toy"}}
    assert project["classifiers"] == ["Private :: Do Not Upload"] and "license" not in project
    folder = out / "src" / "treecrf_my_toy" / "my-toy"
    assert ModelCard.load(folder).scores == () and "not stated" in (out / "LICENSE.txt").read_text()
    assert Parser.load(folder, "cpu").parse(["the", "cat"]).words == ["the", "cat"]
    assert [path.name for path in (tmp_path / "packages").iterdir()] == ["treecrf-my-toy"]


def test_a_packed_model_keeps_its_bytes_and_gets_the_license_of_the_text(model: Path, tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text(TEXTS)
    (tmp_path / "treebanks.toml").write_text("")
    assert pack(model, tmp_path / "one", "--package", "treecrf-one") is None
    packed = tmp_path / "one" / "src" / "treecrf_one" / "one"
    (packed / "calibration.json").write_text("{}")
    two = tmp_path / "treecrf-two"
    two.mkdir()  # an empty folder is no obstacle
    arguments = ["--package", "--package-version", "2.1", "--card", tmp_path / "card.toml"]
    assert pack(packed, two, *arguments) is None
    for name in ("model.json", "model.safetensors", "vocabulary.json", "calibration.json"):
        assert (two / "src" / "treecrf_two" / "two" / name).read_bytes() == (packed / name).read_bytes()
    project = tomllib.loads((two / "pyproject.toml").read_text())["project"]
    assert (project["version"], project["license"], project["description"]) == ("2.1", "CC0-1.0", 'A parser of "toys"')
    assert "classifiers" not in project and (two / "LICENSE.txt").read_text() == "Do what you like.\n"
    card = ModelCard.load(two / "src" / "treecrf_two" / "two")
    assert (card.name, card.purpose.license) == ("two", "free")


def test_a_package_builds_as_a_wheel_for_every_platform(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77")
    pack(model, tmp_path / "treecrf-toy", "--package")
    program = "from setuptools.build_meta import build_wheel; build_wheel('.')"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path / "treecrf-toy", check=True, capture_output=True)
    assert (tmp_path / "treecrf-toy" / "treecrf_toy-0.1.0-py3-none-any.whl").is_file()


@pytest.mark.parametrize(
    "name", ["toy", "treecrf", "treecrf-", "treecrf-Toy", "treecrf-a_b", "treecrf-a/../b", "numpy"]
)
def test_names_of_packages_are_checked(name: str, model: Path, tmp_path: Path) -> None:
    message = f"the name of the package is '{name}'; expected treecrf- and the name of the model"
    assert message in str(pack(model, tmp_path / "out", "--package", name))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--package", "treecrf-en"], "'en', which is the name of an embedded model"),
        (["--package", "treecrf-toy", "--package-version", "new"], "the version of the package is 'new'"),
        (["--package", "treecrf-toy", "--vectors", "3"], "--vectors is for a training run"),
        (["--package", "treecrf-toy", "--weight-step", "3"], "--weight-step is 3; expected 0 to 1"),
        (["--package-version", "1.0"], "--package-version is the version of a package; add --package"),
    ],
)
def test_wrong_options_are_errors(options: list[str], message: str, model: Path, tmp_path: Path) -> None:
    assert message in str(pack(model, tmp_path / "out", *options))
    assert not (tmp_path / "out").exists()


def test_a_package_needs_a_folder_of_its_own(model: Path, tmp_path: Path) -> None:
    assert "--package needs a folder for the package" in str(pack(model, "--package"))
    (tmp_path / "treecrf-toy").mkdir()
    (tmp_path / "treecrf-toy" / "notes.txt").touch()
    assert "exists, and packages are not overwritten; remove it" in str(
        pack(model, tmp_path / "treecrf-toy", "--package")
    )
    assert [path.name for path in tmp_path.rglob("*")] == ["treecrf-toy", "notes.txt"]


def test_after_an_error_there_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "holds no model" in str(pack(tmp_path / "empty", tmp_path / "treecrf-toy", "--package"))
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
