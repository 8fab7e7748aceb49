"""`treecrf models`: the embedded models, their model cards and their labels."""

import argparse
from collections.abc import Iterator

from treecrf import models
from treecrf.export.model_card import CARD_MARKDOWN, ModelCard, format_megabytes
from treecrf.treebank.label_glossary import explain_all

_HEADER = ("model", "language", "size", "licence", "F over all sentences (95% interval)")
_LANGUAGE_CODES = {"English": "en", "Chinese": "zh"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `treecrf models`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="print the model card of this model")
    parser.add_argument("--labels", action="store_true", help="explain the labels and tags of the model NAME instead")


def run(args: argparse.Namespace) -> None:
    """Prints a table of all models, or the model card or the labels of one."""
    names = models.names()
    if args.name and args.name not in names:
        raise ValueError(f"there is no embedded model '{args.name}'; expected one of {', '.join(names) or 'none'}")
    if args.labels:
        if not args.name:
            raise ValueError("--labels needs a model; add its NAME, such as en")
        print("\n".join(_label_lines(ModelCard.load(models.FOLDER / args.name))))
    elif args.name:
        print((models.FOLDER / args.name / CARD_MARKDOWN).read_text(encoding="utf-8"), end="")
    elif names:
        print("\n".join(_table([ModelCard.load(models.FOLDER / name) for name in names])))
    else:
        print("There are no embedded models; `treecrf train` makes a model.")


def _label_lines(card: ModelCard) -> Iterator[str]:
    language = _LANGUAGE_CODES[card.purpose.language]
    yield f"{len(card.labels)} constituent labels"
    yield from (f"  {line}" for line in explain_all(card.labels, language, is_tag=False))
    yield ""
    yield f"{len(card.tags)} part-of-speech tags"
    yield from (f"  {line}" for line in explain_all(card.tags, language, is_tag=True))


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
