"""Models by name: embedded models, models of installed packages, and packages that are broken or hostile."""

import sys
from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf import Parser
from treecrf.cli import main
from treecrf.parser import models


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, which is the only one that is searched."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    find = sys.modules["importlib.metadata"].distributions
    monkeypatch.setattr("treecrf.parser.models.entry_points.distributions", lambda: find(path=[str(folder)]))
    return folder


def install(site: Path, package: str, entry_points: str) -> Path:
    """Writes the metadata of a package, and returns the folder of its module, which fails when it is imported."""
    module = package.replace("-", "_")
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    (site / module).mkdir()
    (site / module / "__init__.py").write_text("raise RuntimeError('the module of a model package is imported')\n")
    return site / module


def entry_point(name: str, module: str) -> str:
    return f"[treecrf.models]\n{name} = {module}\n"


def test_a_model_of_an_installed_package_is_found_without_importing_its_module(site: Path) -> None:
    module = install(site, "garden-parser", entry_point("garden", "garden_parser"))
    random_parser(toy_trees(5)).save(module / "garden")
    assert models.names() == [*models.embedded_names(), "garden"]
    assert models.installed_folder("garden") == models.find_folder("garden") == module / "garden"
    assert Parser.load("garden", "cpu").folder == module / "garden"


def test_a_folder_is_used_before_a_model_of_the_same_name(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").mkdir()
    assert models.find_folder("en") == Path("en") and models.installed_folder("en") == models.FOLDER / "en"


def test_an_embedded_model_is_found_without_a_search_for_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise AssertionError("the installed packages are searched")

    monkeypatch.setattr("treecrf.parser.models.entry_points.packaged_models", fail)
    assert models.installed_folder("en") == models.FOLDER / "en"
    assert models.is_known("en") and not models.is_known("klingon")
    with pytest.raises(AssertionError, match="the installed packages are searched"):
        models.installed_folder("klingon")


def test_an_embedded_model_is_used_instead_of_one_of_a_package(site: Path) -> None:
    module = install(site, "evil", entry_point("en", "evil"))
    random_parser(toy_trees(5)).save(module / "en")
    assert models.installed_folder("en") == models.FOLDER / "en"
    with pytest.warns(UserWarning, match="the package evil has a model 'en', which is also the name of an embedded"):
        assert models.names() == models.embedded_names()


def test_a_model_whose_package_is_not_installed_is_named_with_the_command(site: Path) -> None:
    for package in models.MODEL_PACKAGES:
        with pytest.raises(
            FileNotFoundError, match=f"'{package.model}' is not installed: pip install {package.name}, from "
        ):
            Parser.load(package.model)
    with pytest.raises(
        FileNotFoundError, match=r"there is no model '\.\./zh': .* the installed models are en, en-lstm;"
    ):
        models.installed_folder("../zh")


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        (
            "garden",
            r"the package garden has no model 'g': expected garden/g/model\.json; install the package again",
        ),
        ("nowhere", r"expected nowhere/g/model\.json"),
        ("os", r"expected os/g/model\.json"),
        ("garden.inner", r"the package garden has the model 'g' in 'garden\.inner'; expected the name of a module"),
        ("../../etc", r"in '\.\./\.\./etc'; expected the name of a module"),
        ("garden:model", "in 'garden:model'; expected the name of a module"),
    ],
)
def test_a_broken_package_is_an_error_and_the_other_models_stay(
    module: str, problem: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "garden", entry_point("g", module))
    with pytest.raises((ValueError, FileNotFoundError), match=problem):
        Parser.load("g")
    with pytest.raises(SystemExit) as ended:
        main(["models"])
    rows = capsys.readouterr().out.partition("\n\n")[0].splitlines()[1:]
    assert ended.value.code is None and [row.split()[0] for row in rows] == models.names()
    assert "the package garden has" in rows[-1]


def test_a_card_of_a_package_cannot_change_the_terminal(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = install(site, "garden", entry_point("g", "garden"))
    random_parser(toy_trees(5)).save(module / "g")
    (module / "g" / "card.json").write_text('{"purpose": {"\\u001b[31m": 1}}')
    with pytest.raises(SystemExit):
        main(["models"])
    output = capsys.readouterr().out
    assert "card.json is not a model card" in output and "\x1b" not in output


def test_two_packages_with_one_model_are_an_error(site: Path) -> None:
    for package in ("garden", "park"):
        install(site, package, entry_point("g", package))
    with pytest.raises(ValueError, match=r"the packages (garden and park|park and garden) have a model 'g' each"):
        models.installed_folder("g")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            "[treecrf.models]\nno equals sign",
            r"garden has no readable entry_points\.txt .* its models are ignored",
        ),
        (entry_point("../en", "garden"), r"has a model '\.\./en'; expected lower-case letters, digits and hyphens"),
        (entry_point("a" * 5000 + "/", "garden"), "has a model 'aaa"),
    ],
)
def test_a_declaration_that_cannot_be_read_is_a_warning(text: str, warning: str, site: Path) -> None:
    install(site, "garden", text)
    with pytest.warns(UserWarning, match=warning) as messages:
        assert models.names() == models.embedded_names()
    assert all(len(str(message.message)) < 400 for message in messages)


def test_damaged_metadata_of_other_packages_do_not_matter(site: Path) -> None:
    install(site, "binary", "")
    (site / "binary-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[treecrf.models]")
    install(site, "other", "[console_scripts]\nno equals sign")
    install(site, "garden", entry_point("g", "garden"))
    install(site, "park", entry_point("p", "park"))
    for package in ("garden", "park"):
        (site / f"{package}-1.0.dist-info" / "METADATA").unlink()
    assert models.names() == [*models.embedded_names(), "g", "p"]
    with pytest.raises(FileNotFoundError, match="the package without a name has no model 'g'"):
        models.installed_folder("g")
