"""Model packages: a model as a Python package, which is installed with pip and found by the name of the model."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from treecrf.parser.models.model_card import CARD_JSON, ModelCard, Purpose, TreebankInfo, model_bytes
from treecrf.parser.storage import ParserState, load_parser_state, save_parser_state
from treecrf.training.export.card_files import save_card
from treecrf.training.export.package_files import PackageNames, package_files
from treecrf.training.export.run_defaults import unstated_purpose
from treecrf.trees.treebank.binarize import constituent_labels


@contextmanager
def new_package(folder: Path, names: PackageNames) -> Iterator[Path]:
    """A temporary folder for a package, to whose model folder the block writes a model with a card.

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
        card = _unscored_card(folder, state)
    if purpose is not None:
        card = replace(card, purpose=purpose)
    if treebanks is not None:
        card = replace(card, data=tuple(treebanks.get(entry.name, entry) for entry in card.data))
    save_card(card, folder)


def _unscored_card(folder: Path, state: ParserState) -> ModelCard:
    """The card of a model about which nothing but its files is known."""
    return ModelCard(
        name=folder.name,
        purpose=unstated_purpose(()),
        version=version("treecrf"),
        commit="",
        size=model_bytes(folder),
        data=(),
        scores=(),
        labels=constituent_labels(state.vocabulary.labels),
        tags=tuple(sorted(state.vocabulary.tags)),
        recipe="",
    )
