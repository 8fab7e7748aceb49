"""Defaults of packing: the files that score a model, and the text of a card that nobody has written."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treecrf.parser.models.model_card import NOT_STATED, Purpose, TreebankInfo

if TYPE_CHECKING:
    from treecrf.training.config import Recipe  # importing it imports PyTorch


class ScoringFiles(NamedTuple):
    """The files of a model's training sentences, and of each test set by its name."""

    train: list[Path]
    tests: dict[str, list[Path]]


def treebank_name(path: str) -> str:
    """The name of a file's treebank: that of its folder."""
    return Path(path).resolve().parent.name


def recipe_files(recipe: "Recipe") -> ScoringFiles:
    """The files of a recipe; without a test file, the model is scored on dev."""
    tests: dict[str, list[Path]] = {}
    for path in recipe.data.test or recipe.data.dev:
        name = treebank_name(path) if recipe.data.test else f"{treebank_name(path)}, dev"
        tests.setdefault(name, []).append(Path(path))
    train = list(map(Path, recipe.data.train))
    for file in (*train, *chain(*tests.values())):
        if not file.is_file():
            raise FileNotFoundError(
                f"there is no file {file}, which the recipe of the run names; run the command in the folder in which "
                "the parser was trained, or name the folder of the treebanks with --data"
            )
    return ScoringFiles(train=train, tests=tests)


def data_files(data: Path, train: Iterable[str], tests: Iterable[str]) -> ScoringFiles:
    """The files of a folder with one folder for each treebank."""
    return ScoringFiles(
        train=[data / path for path in train], tests={name: [_find_test_file(data / name)] for name in tests}
    )


def _find_test_file(folder: Path) -> Path:
    path = folder / "test.mrg"
    return path if path.is_file() else folder / "test.mrg.gz"


def unstated_purpose(treebanks: Iterable[str]) -> Purpose:
    """The text of a card for which nobody has written one."""
    names = ", ".join(dict.fromkeys(treebanks))
    return Purpose(
        summary=f"A constituency parser{f' that was trained on {names}' * bool(names)}.",
        language=NOT_STATED,
        license=NOT_STATED,
        license_reason="it follows from the licenses of the treebanks",
        uses="Parsing text like that of the treebanks.",
        limits=("Nobody has described the limits of this model; `treecrf pack --card FILE` adds a text.",),
        tests=(),
    )


def unstated_treebank(name: str) -> TreebankInfo:
    return TreebankInfo(name=name, title=name, source=NOT_STATED, license=NOT_STATED, commercial=NOT_STATED)
