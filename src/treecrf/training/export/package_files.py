"""The files of a model package except its model: pyproject.toml, the page, the license and the module."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from treecrf.config import toml_literal
from treecrf.parser.models import is_embedded
from treecrf.parser.models.entry_points import GROUP
from treecrf.parser.models.model_card import CARD_MARKDOWN, NOT_STATED, ModelCard
from treecrf.parser.models.registry import NAME, PREFIX
from treecrf.parser.storage import ParserState

_VERSION = re.compile(r"\d+(\.\d+){0,3}((a|b|rc)\d+)?(\.(post|dev)\d+)?", re.ASCII)
_LICENSE, _PAGE = "LICENSE.txt", "README.md"
_PRIVATE = "Private :: Do Not Upload"  # registries refuse a package with this classifier


@dataclass(frozen=True, kw_only=True)
class PackageNames:
    """The name and the version of a model package."""

    name: str
    version: str

    def __post_init__(self) -> None:
        if not self.name.startswith(PREFIX) or not NAME.fullmatch(self.model):
            raise ValueError(
                f"the name of the package is {self.name!r:.100}; expected {PREFIX} and the name of the model in "
                f"lower-case letters, digits and hyphens: use --package {PREFIX}NAME"
            )
        if is_embedded(self.model):
            raise ValueError(
                f"the package {self.name} would have a model '{self.model}', which is the name of an embedded model; "
                "choose another name"
            )
        if not _VERSION.fullmatch(self.version):
            raise ValueError(f"the version of the package is {self.version!r:.100}; expected numbers such as 1.0.2")

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.name.removeprefix(PREFIX)

    @property
    def module(self) -> str:
        """The name of the module, whose folder has the model."""
        return self.name.replace("-", "_")

    def model_folder(self, package: Path) -> Path:
        """The folder of the model in the folder of the package."""
        return package / "src" / self.module / self.model


def package_files(names: PackageNames, card: ModelCard, state: ParserState) -> dict[str, str]:
    """The texts of all files by their paths in the package."""
    return {
        "pyproject.toml": "\n".join(_pyproject_lines(names, card, _requirement(card, state))) + "\n",
        _PAGE: "\n".join(_page_lines(names, card)) + "\n",
        _LICENSE: _license_text(card),
        f"src/{names.module}/__init__.py": f'"""The model {names.model} of treecrf: data without code."""\n',
    }


def summary_line(card: ModelCard) -> str:
    """The first sentence of a card's summary, in one line and without its period."""
    return re.split(r"\.(?: |$)", " ".join(card.purpose.summary.split()), maxsplit=1)[0][:500]


def _requirement(card: ModelCard, state: ParserState) -> str:
    """The requirement of treecrf: the version that made the model, and the extras that the model needs for raw text."""
    if not _VERSION.fullmatch(card.version):
        raise ValueError(f"the card of {card.name} has the version {card.version!r:.100}; expected that of treecrf")
    extras = []
    if state.config.language == "zh" or state.config.normalization == "simplified":
        extras.append("zh")
    if state.config.model.transformer and state.bert is None:
        extras.append("transformers")
    return "treecrf" + f"[{','.join(extras)}]" * bool(extras) + f">={card.version}"


def _pyproject_lines(names: PackageNames, card: ModelCard, requirement: str) -> Iterator[str]:
    yield from ("[build-system]", 'requires = ["setuptools>=77"]', 'build-backend = "setuptools.build_meta"', "")
    yield from ("[project]", f'name = "{names.name}"', f'version = "{names.version}"', 'dynamic = ["readme"]')
    yield f"description = {toml_literal(summary_line(card))}"
    if card.purpose.license_id:
        yield f"license = {toml_literal(card.purpose.license_id)}"
    yield f'license-files = ["{_LICENSE}"]'
    if card.purpose.license == NOT_STATED:
        yield f'classifiers = ["{_PRIVATE}"] # until the license is stated'
    yield from (f'dependencies = ["{requirement}"]', "")
    yield from (f'[project.entry-points."{GROUP}"]', f'{names.model} = "{names.module}"', "")
    yield from ("[tool.setuptools]", f'packages = ["{names.module}"]', 'package-dir = { "" = "src" }')
    yield from ("include-package-data = false", "")
    yield from ("[tool.setuptools.package-data]", f'{names.module} = ["{names.model}/*"]', "")
    card_page = names.model_folder(Path()).joinpath(CARD_MARKDOWN).as_posix()
    yield from (
        "[tool.setuptools.dynamic]",
        f'readme = {{ file = ["{_PAGE}", "{card_page}"], content-type = "text/markdown" }}',
    )


def _page_lines(names: PackageNames, card: ModelCard) -> Iterator[str]:
    yield from (f"# {names.name}", "", card.purpose.summary, "")
    yield from (f"This package has the model `{names.model}` of the constituency parser treecrf.", "")
    yield from ("```console", f"$ pip install {names.name}", f"$ treecrf parse --model {names.model} FILE", "```", "")
    yield f"The license of the model: {card.purpose.license}; {card.purpose.license_reason}."
    yield f"`treecrf models {names.model}` prints the model card."


def _license_text(card: ModelCard) -> str:
    """The text of the license, or what the card says about it."""
    purpose = card.purpose
    if purpose.license_text:
        return purpose.license_text.strip() + "\n"
    lines = [f"The license of the model {card.name}: {purpose.license}; {purpose.license_reason}."]
    if card.data:
        lines += ["", "The model was trained on these treebanks:", ""]
        lines += [
            f"- {data.title} ({data.source}): {data.license}; commercial use: {data.commercial}" for data in card.data
        ]
    return "\n".join(lines) + "\n"
