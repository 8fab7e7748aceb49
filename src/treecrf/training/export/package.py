"""Model packages: a model as a Python package, which is installed with pip and found by the name of the model."""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from treecrf.parser.models import is_embedded
from treecrf.parser.models.entry_points import GROUP
from treecrf.parser.models.model_card import CARD_JSON, CARD_MARKDOWN, NOT_STATED, ModelCard, Purpose, TreebankInfo
from treecrf.parser.models.model_folder import NAME, PREFIX
from treecrf.parser.storage import ParserState, load_parser_state, save_parser_state
from treecrf.training.export.card_files import save_card, unmeasured_card
from treecrf.training.markdown import render

_VERSION = re.compile(r"\d+(\.\d+){0,3}((a|b|rc)\d+)?(\.(post|dev)\d+)?", re.ASCII)


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
        return self.name.removeprefix(PREFIX)

    @property
    def module(self) -> str:
        """The name of the module, whose folder has the model."""
        return self.name.replace("-", "_")

    def model_folder(self, package: Path) -> Path:
        return package / "src" / self.module / self.model


@contextmanager
def new_package(folder: Path, names: PackageNames) -> Iterator[Path]:
    """Makes a temporary folder for a package, to whose model folder the block writes a model with a card.

    At the end of the block, the other files of the package are added, and the package is moved to `folder`. After an
    error there is no package.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists, and packages are not overwritten; remove it, or choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=f".{names.name}-") as temporary:
        package = Path(temporary) / names.name
        names.model_folder(package).mkdir(parents=True)
        yield package
        model = names.model_folder(package)
        for name, text in package_files(names, ModelCard.load(model), load_parser_state(model)).items():
            (package / name).write_text(text, encoding="utf-8", newline="\n")
        if folder.is_dir():
            folder.rmdir()  # Windows replaces no folder
        package.rename(folder)


def copy_model(
    source: Path, folder: Path, purpose: Purpose | None = None, treebanks: Mapping[str, TreebankInfo] | None = None
) -> None:
    """Copies a model to a folder, with a card. `purpose` and `treebanks` replace the text of the card.

    A packed model keeps its scores and the bytes of its files. A model without a card gets 8-bit weights and a card
    without scores.
    """
    state = load_parser_state(source)  # checks the files
    if (source / CARD_JSON).is_file():
        for path in source.iterdir():
            if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                shutil.copyfile(path, folder / path.name)
        card = replace(ModelCard.load(source), name=folder.name)
    else:
        save_parser_state(folder, state, weight_step=0.0)
        card = unmeasured_card(folder, state.vocabulary.labels, state.vocabulary.tags)
    if purpose is not None:
        card = replace(card, purpose=purpose)
    if treebanks is not None:
        card = replace(card, data=tuple(treebanks.get(entry.name, entry) for entry in card.data))
    save_card(card, folder)


def package_files(names: PackageNames, card: ModelCard, state: ParserState) -> dict[str, str]:
    """Returns the texts of all files except the model, by their paths in the package."""
    values = {
        "names": names,
        "group": GROUP,
        "card": card,
        "card_path": (names.model_folder(Path()) / CARD_MARKDOWN).as_posix(),
        "description": summary_line(card),
        "requirement": _requirement(card, state),
        "is_private": card.purpose.license == NOT_STATED,
    }
    return {
        "pyproject.toml": render("package-pyproject.toml", **values),
        "README.md": render("package-readme.md", **values),
        "LICENSE.txt": render("package-license.txt", **values),
        f"src/{names.module}/__init__.py": f'"""The model {names.model} of treecrf: data without code."""\n',
    }


def summary_line(card: ModelCard) -> str:
    """Returns the first sentence of a card's summary, in one line and without its period."""
    return re.split(r"\.(?: |$)", " ".join(card.purpose.summary.split()), maxsplit=1)[0][:500]


def _requirement(card: ModelCard, state: ParserState) -> str:
    """Returns the requirement of treecrf: the version that made the model, and the extras that raw text needs."""
    if not _VERSION.fullmatch(card.version):
        raise ValueError(
            f"the card of {card.name} has the version {card.version!r:.100}; expected numbers such as 1.0.2"
        )
    extras = []
    if state.config.language == "zh" or state.config.normalization == "simplified":
        extras.append("zh")
    if state.config.model.transformer and state.bert is None:
        extras.append("transformers")
    return "treecrf" + f"[{','.join(extras)}]" * bool(extras) + f">={card.version}"
