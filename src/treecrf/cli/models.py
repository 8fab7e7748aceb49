"""`treecrf models`: the installed models, their model cards and their labels, and the model packages that exist."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from treecrf.files import read_regular_file
from treecrf.parser import models
from treecrf.parser.models.model_card import CARD_JSON, CARD_MARKDOWN, NOT_STATED, ModelCard, format_megabytes
from treecrf.trees.treebank import label_glossary
from treecrf.trees.treebank.binarize import constituent_labels
from treecrf.trees.treebank.languages import CODES, LANGUAGES

_HEADER = ("model", "language", "size", "license", "F over all sentences (95% interval)")
_PACKAGE_HEADER = ("not installed", "language", "license", "command", "contents")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="MODEL", help="an installed model or a folder: print its card")
    parser.add_argument("--labels", action="store_true", help="explain the labels and tags of MODEL instead")


def run(args: argparse.Namespace) -> None:
    if args.name:
        _print_model(models.find_folder(args.name), is_labels=args.labels)
    elif args.labels:
        raise ValueError("--labels needs a model; add its name, such as en, or its folder")
    else:
        _print_table()


def _print_model(folder: Path, *, is_labels: bool) -> None:
    if not (folder / CARD_JSON).is_file():
        print("\n".join(_folder_lines(folder, is_labels=is_labels)))
    elif is_labels:
        card = ModelCard.load(folder)
        stated = str(card.purpose.language)
        language = "en" if stated == NOT_STATED else CODES.get(stated, stated)
        print("\n".join(_explained(card.labels, card.tags, language)))
    else:
        print(_printable(read_regular_file(folder / CARD_MARKDOWN).decode("utf-8")), end="")


def _print_table() -> None:
    names = models.names()
    if names:
        print("\n".join(_table([_HEADER, *map(_row, names)])))
    else:
        print("No models are installed; `treecrf train` makes a model.")
    others = [
        (package.model, package.language, package.license, f"pip install {package.name}", package.summary)
        for package in models.MODEL_PACKAGES
        if package.model not in names
    ]
    if others:
        print("", *_table([_PACKAGE_HEADER, *others]), sep="\n")


def _printable(text: str) -> str:
    """The text without control characters, with which a card could change the terminal."""
    return "".join(character for character in text if character.isprintable() or character in "\n\t")


def _folder_lines(folder: Path, *, is_labels: bool) -> Iterator[str]:
    """Describes a model without a card, such as a training run."""
    from treecrf.parser import Parser
    from treecrf.parser.storage import read_files

    parser = Parser.load(folder, "cpu")
    size = sum(map(len, read_files(folder).values()))
    labels = constituent_labels(parser.vocabulary.labels)
    tags = sorted(parser.vocabulary.tags)
    if is_labels:
        yield from _explained(labels, tags, parser.language)
        return
    yield f"{folder}: a parser without a model card, which `treecrf pack` makes"
    yield f"parser  {parser}"
    yield f"size    {format_megabytes(size)}"
    yield f"labels  {' '.join(labels)}"
    yield f"tags    {' '.join(tags)}"


def _explained(labels: Sequence[str], tags: Sequence[str], language: str) -> Iterator[str]:
    for title, symbols, is_tag in (("constituent labels", labels, False), ("part-of-speech tags", tags, True)):
        if is_tag:
            yield ""
        if language in LANGUAGES:
            yield f"{len(symbols)} {title}"
            yield from (f"  {line}" for line in label_glossary.explain_all(symbols, language, is_tag=is_tag))
        else:
            yield f"{len(symbols)} {title}; treecrf has no explanations for this language"
            yield from (f"  {symbol}" for symbol in symbols)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield _printable("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(name: str) -> tuple[str, ...]:
    """The row of an installed model; the package of the model may be broken."""
    try:
        card = ModelCard.load(models.installed_folder(name))
        scores = ", ".join(
            f"{score.name} {score.f1:.2f} ({'-'.join(f'{bound:.1f}' for bound in score.interval)})"
            for score in card.scores
        )
        return name, card.purpose.language, format_megabytes(card.size), card.purpose.license, scores
    except (ValueError, TypeError, OSError) as error:
        return name, "unknown", "unknown", "unknown", str(error)
