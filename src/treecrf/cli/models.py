"""`treecrf models`: the embedded models, their model cards and their labels."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from treecrf import models
from treecrf.atomic_io import read_regular_file
from treecrf.export.model_card import CARD_JSON, CARD_MARKDOWN, ModelCard, format_megabytes
from treecrf.treebank.binarize import unary_chain
from treecrf.treebank.label_glossary import explain_all

_HEADER = ("model", "language", "size", "licence", "F over all sentences (95% interval)")
_LANGUAGE_CODES = {"English": "en", "Chinese": "zh"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `treecrf models`."""
    parser.add_argument("name", nargs="?", metavar="MODEL", help="an embedded model or a folder: print its card")
    parser.add_argument("--labels", action="store_true", help="explain the labels and tags of MODEL instead")


def run(args: argparse.Namespace) -> None:
    """Prints a table of all models, or the model card or the labels of one."""
    names = models.names()
    if args.labels and not args.name:
        raise ValueError("--labels needs a model; add its name, such as en, or its folder")
    if args.name and not (_folder(args.name) / CARD_JSON).is_file():
        print("\n".join(_folder_lines(_folder(args.name), is_labels=args.labels)))
    elif args.labels:
        print("\n".join(_label_lines(ModelCard.load(_folder(args.name)))))
    elif args.name:
        print(_printable(read_regular_file(_folder(args.name) / CARD_MARKDOWN).decode("utf-8")), end="")
    elif names:
        print("\n".join(_table([ModelCard.load(models.FOLDER / name) for name in names])))
    else:
        print("There are no embedded models; `treecrf train` makes a model.")


def _folder(name: str) -> Path:
    """The folder of a model."""
    if name in models.names():
        return models.FOLDER / name
    if not Path(name).is_dir():
        expected = ", ".join(models.names()) or "none"
        raise ValueError(f"there is no embedded model '{name}' and no folder of that name; expected {expected}")
    return Path(name)


def _printable(text: str) -> str:
    """The text without control characters, with which a card could change the terminal."""
    return "".join(character for character in text if character.isprintable() or character in "\n\t")


def _folder_lines(folder: Path, *, is_labels: bool) -> Iterator[str]:
    """Describes a model without a card, such as that of a training run."""
    from treecrf.parser import Parser
    from treecrf.parser.storage import read_files

    parser = Parser.load(folder, "cpu")
    size = sum(map(len, read_files(folder).values()))
    labels = sorted({name for label in parser.vocabulary.labels for name in unary_chain(label)})
    tags = sorted(parser.vocabulary.tags)
    if is_labels:
        yield from _explained(labels, tags, parser.language)
        return
    yield f"{folder}: a parser without a model card, which `treecrf pack` makes"
    yield f"parser  {parser}"
    yield f"size    {format_megabytes(size)}"
    yield f"labels  {' '.join(labels)}"
    yield f"tags    {' '.join(tags)}"


def _label_lines(card: ModelCard) -> Iterator[str]:
    return _explained(card.labels, card.tags, _LANGUAGE_CODES.get(str(card.purpose.language), "en"))


def _explained(labels: Sequence[str], tags: Sequence[str], language: str) -> Iterator[str]:
    yield f"{len(labels)} constituent labels"
    yield from (f"  {line}" for line in explain_all(labels, language, is_tag=False))
    yield ""
    yield f"{len(tags)} part-of-speech tags"
    yield from (f"  {line}" for line in explain_all(tags, language, is_tag=True))


def _table(cards: list[ModelCard]) -> Iterator[str]:
    rows = [_HEADER, *map(_row, cards)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(card: ModelCard) -> tuple[str, ...]:
    scores = [f"{score.name} {score.f1:.2f} ({_format_interval(score.interval)})" for score in card.scores]
    return card.name, card.purpose.language, format_megabytes(card.size), card.purpose.licence, ", ".join(scores)


def _format_interval(bounds: tuple[float, float]) -> str:
    return "-".join(f"{bound:.1f}" for bound in bounds)
