"""Wheels of treecrf and of the model packages. The commands of the README and of docs/index.md run with the wheel.

The environment is made by the install commands of the page. It has the wheel and the packages that the wheel requires,
and nothing else: neither PyTorch nor this checkout.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement

from project_models import PACKAGE_OF_MODEL

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "treecrf"
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]
BLOCK = re.compile(r"^```(console|python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALL = "pip install .\n"
MAX_WHEEL_BYTES = 75e6
SENTENCES = {  # by the model of a package
    "en-large": ["Dr. Smith didn't reply to Mr. Jones.", "She had left at 5 p.m., hadn't she?"],
    "en-xl": ["The U.S. economy grew by 2.5 percent.", "Who'd have thought so?"],
    "es": ["El señor García no llegó al congreso.", "¿Quién vendría a las 5 de la tarde?"],
    "id": ["Presiden tiba di Jakarta pada hari Senin.", "Apakah mereka membaca bukunya?"],
    "is": ["Jón Sigurðsson kom ekki til landsins.", "Hvenær fer hún heim?"],
    "pt": ["O Sr. Silva não foi ao congresso.", "Quem chegou às 5 da tarde?"],
    "zh": ["我們昨天去了圖書館。", "他在學校學習中文，也喜歡音樂！"],
}
HAS_COMPILED_PARTS = any(PACKAGE.rglob("*.so"))

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell"),
    pytest.mark.skipif(find_spec("setuptools") is None, reason="a wheel is built with setuptools"),
]


def copy_sources(folder: Path, *excluded: str) -> None:
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info", *excluded)
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder / name)


def build_wheel(folder: Path, **variables: str) -> tuple[Path, str]:
    """Builds a wheel from the sources in a folder, and returns it with the messages of the build."""
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "build",
        "--build-lib",
        "build/lib",
        "bdist_wheel",
        "--compression",
        "stored",
    ]
    build = subprocess.run(command, cwd=folder, env=os.environ | variables, check=False, capture_output=True, text=True)
    assert build.returncode == 0, build.stderr
    (wheel,) = (folder / "dist").iterdir()
    return wheel, build.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A wheel of this checkout. Its compiled parts are taken as they are, because compiling them takes long."""
    folder = tmp_path_factory.mktemp("wheel")
    copy_sources(folder)
    for part in PACKAGE.rglob("*.so"):
        target = folder / "build" / "lib" / "treecrf" / part.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(part, target)
    yield build_wheel(folder)[0]
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader who has followed the install commands of the README."""
    folder = tmp_path_factory.mktemp("reader")
    install = next(code for language, code in blocks(PAGES[0]) if language == "console" and INSTALL in code)
    run_shell(install.replace(INSTALL, f"pip install --quiet --no-index --no-deps {wheel}\n"), folder)
    (packages,) = folder.glob(".venv/lib/python*/site-packages")
    (metadata,) = packages.glob("treecrf-*.dist-info")
    for name in required_packages(Distribution.at(metadata)):
        link_package(name, packages)
    return folder


def required_packages(package: Distribution, extras: Iterable[str] = ()) -> set[str]:
    """The names of the packages that a package requires with some extras, and of those that these require."""
    names: set[str] = set()
    for requirement in map(Requirement, package.requires or []):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            names |= {requirement.name} | required_packages(distribution(requirement.name), requirement.extras)
    return names


def link_package(name: str, packages: Path) -> None:
    """Makes the modules of an installed package visible in another folder of packages."""
    files = distribution(name).files or []
    for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
        if not (packages / top).exists():
            (packages / top).symlink_to(Path(str(distribution(name).locate_file(top))))


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the code of each block of commands."""
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def run_shell(code: str, folder: Path) -> str:
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env=variables,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert shell.returncode == 0, f"{code}\n{shell.stdout}\n{shell.stderr}"
    return shell.stdout


def test_the_environment_of_the_reader_has_only_the_wheel(environment: Path) -> None:
    code = "import importlib.util, treecrf; print(treecrf.__file__, importlib.util.find_spec('torch'))"
    path, torch = run_shell(f'. .venv/bin/activate\npython -c "{code}"', environment).split()
    assert Path(path).is_relative_to(environment / ".venv") and torch == "None"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_page_runs_in_an_empty_folder(page: Path, environment: Path, tmp_path: Path) -> None:
    commands = [code for language, code in blocks(page) if language == "sh"]
    program = "\n".join(code for language, code in blocks(page) if language == "python")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    code = "\n".join([f". {environment}/.venv/bin/activate", *commands, "python program.py"])
    assert run_shell(code, tmp_path).count("(S ") > 2


def test_only_the_readme_has_the_install_commands() -> None:
    pages = [PAGES[0], *sorted((ROOT / "docs").glob("*.md"))]
    assert [page for page in pages for _, code in blocks(page) if INSTALL in code] == PAGES[:1]


def test_a_wheel_has_the_models_the_samples_and_the_compiled_parts(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    data = ["parser/models/en/model.safetensors", "trees/treebank/samples/fifty.mrg", "training/settings/hundreds.toml"]
    data += ["trees/treebank/glossaries/en.tsv", "trees/search/head_rules/en.txt", "text/words/en.toml"]
    data += ["training/reproduce/rows.toml", "training/templates/card.md"]
    for name in [*data, "cli/notes/parse.txt", "server/page/index.html", "py.typed"]:
        assert f"treecrf/{name}" in names
    assert any(name.endswith(".so") for name in names) == HAS_COMPILED_PARTS
    assert wheel.name.endswith("-py3-none-any.whl") != HAS_COMPILED_PARTS


def check_compiled(*, python: Path | str, path: Path | str) -> subprocess.CompletedProcess[str]:
    """Runs the check of the workflow for wheels, with a folder of packages."""
    command = [str(python), str(ROOT / ".github" / "check_wheel.py")]
    variables = os.environ | {"PYTHONPATH": str(path)}
    return subprocess.run(command, env=variables, check=False, capture_output=True, text=True)


@pytest.mark.skipif(not HAS_COMPILED_PARTS, reason="the checkout has no compiled parts")
def test_the_workflow_accepts_a_wheel_with_all_six_extensions(environment: Path) -> None:
    check = check_compiled(python=environment / ".venv" / "bin" / "python", path="")
    assert check.returncode == 0 and check.stdout.startswith("6 compiled extensions: "), check.stderr


def test_the_wheel_is_small_and_has_only_models_under_its_own_license(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    folders = {PurePosixPath(name).parent for name in archive.namelist() if name.endswith("/model.safetensors")}
    assert {folder.name for folder in folders} == {"en", "en-lstm"}
    assert wheel.stat().st_size < MAX_WHEEL_BYTES  # its files are not compressed
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    fields = [line for line in archive.read(metadata).decode().splitlines() if line.startswith("License")]
    assert fields == ["License-Expression: MIT", "License-File: LICENSE"]


@pytest.mark.parametrize("model", PACKAGE_OF_MODEL)
def test_a_model_package_parses_a_raw_paragraph(model: str, environment: Path, tmp_path: Path) -> None:
    package = PACKAGE_OF_MODEL[model]
    shutil.copytree(package, tmp_path / "source", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__", "build"))
    program = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path / "source", check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl") and wheel.stat().st_size < MAX_WHEEL_BYTES
    packages = tmp_path / "packages"
    zipfile.ZipFile(wheel).extractall(packages)  # as pip does, in a fraction of the time
    (metadata,) = packages.glob("*.dist-info")
    for name in required_packages(Distribution.at(metadata)) - {"treecrf"}:
        link_package(name, packages)
    paragraph = " ".join(SENTENCES[model])
    (tmp_path / "text.txt").write_text(paragraph, encoding="utf-8")
    code = f"export PYTHONPATH={packages}\n{environment}/.venv/bin/treecrf parse --model {model} --format json text.txt"
    sentences = json.loads(run_shell(code, tmp_path))["sentences"]
    bounds = [(sentence["offsets"][0][0], sentence["offsets"][-1][1]) for sentence in sentences]
    assert [paragraph[start:end] for start, end in bounds] == SENTENCES[model]
    assert all(len(sentence["spans"]) > 2 for sentence in sentences)


def test_without_a_compiler_the_build_says_so_and_the_wheel_is_for_every_platform(tmp_path: Path) -> None:
    copy_sources(tmp_path, "*.safetensors")
    wheel, messages = build_wheel(tmp_path, CC="false")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not any(name.endswith(".so") for name in zipfile.ZipFile(wheel).namelist())
    message = next(
        line for line in messages.splitlines() if line.startswith("treecrf: these compiled parts are missing")
    )
    assert "treecrf.network.runtime._kernels" in message and "Install a C compiler" in message
    zipfile.ZipFile(wheel).extractall(tmp_path / "packages")
    check = check_compiled(python=sys.executable, path=tmp_path / "packages")
    assert check.returncode == 1 and check.stderr.count("No module named") == 6 and "runtime._kernels" in check.stderr
