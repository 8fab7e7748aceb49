"""`treecrf models`: what came with the package, and each model's card."""

import argparse

from treecrf import models
from treecrf.export.model_card import CARD_MARKDOWN, ModelCard, format_megabytes

_HEAD = ("model", "language", "size", "licence", "EVALB's F, predicted tags (95% interval)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf models`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="print the card of this model")


def run(args: argparse.Namespace) -> None:
    """Print a table of all models, or the card of one."""
    known = models.names()
    if args.name:
        if args.name not in known:
            raise ValueError(f"no model '{args.name}' came with treecrf; there are {', '.join(known) or 'none'}")
        print((models.FOLDER / args.name / CARD_MARKDOWN).read_text(encoding="utf-8"), end="")
        return
    if not known:
        print("No models came with this treecrf; `treecrf train` makes one.")
        return
    rows = [_HEAD, *(_row(ModelCard.load(models.FOLDER / name)) for name in known)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(card: ModelCard) -> tuple[str, ...]:
    scores = [f"{score.name} {score.f1:.2f} ({_interval(score.interval)})" for score in card.scores]
    return card.name, card.purpose.language, format_megabytes(card.size), card.purpose.licence, ", ".join(scores)


def _interval(bounds: tuple[float, float]) -> str:
    return "-".join(f"{bound:.1f}" for bound in bounds)
