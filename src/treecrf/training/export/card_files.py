"""The files of a model card: JSON for programs, Markdown for people."""

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from treecrf import __version__
from treecrf.parser.models.model_card import (
    CARD_JSON,
    CARD_MARKDOWN,
    LONG,
    NOT_STATED,
    ModelCard,
    Purpose,
    TreebankInfo,
    format_megabytes,
    model_bytes,
)
from treecrf.training.markdown import render
from treecrf.trees.treebank.binarize import constituent_labels


def new_card(folder: Path, purpose: Purpose, labels: Iterable[str], tags: Iterable[str], **measured: Any) -> ModelCard:
    """Returns the card of a folder's model; `measured` are the commit, the data, the recipe and the measurements."""
    return ModelCard(
        name=folder.name,
        purpose=purpose,
        version=__version__,
        size=model_bytes(folder),
        labels=constituent_labels(labels),
        tags=tuple(sorted(tags)),
        **measured,
    )


def unmeasured_card(folder: Path, labels: Iterable[str], tags: Iterable[str]) -> ModelCard:
    """Returns the card of a model of which nothing is stated and nothing was measured."""
    return new_card(folder, unstated_purpose(()), labels, tags, commit="", data=(), scores=(), recipe="")


def save_card(card: ModelCard, folder: Path) -> None:
    text = json.dumps(asdict(card), ensure_ascii=False, indent=1)
    (folder / CARD_JSON).write_text(text + "\n", encoding="utf-8")
    (folder / CARD_MARKDOWN).write_text(to_markdown(card), encoding="utf-8")


def to_markdown(card: ModelCard) -> str:
    values = {field.name: getattr(card, field.name) for field in fields(card)}
    return render("card.md", **values, long=LONG, megabytes=format_megabytes)


def unstated_purpose(treebanks: Iterable[str]) -> Purpose:
    """Returns the text of a card for which nobody has written one."""
    names = ", ".join(dict.fromkeys(treebanks))
    return Purpose(
        summary=f"A constituency parser{f' that was trained on {names}' * bool(names)}.",
        language=NOT_STATED,
        license=NOT_STATED,
        license_reason="it follows from the licenses of the treebanks",
        uses="Parsing text like the texts of the treebanks.",
        limits=("Nobody has described the limits of this model; `treecrf pack --card FILE` adds a text.",),
        tests=(),
    )


def unstated_treebank(name: str) -> TreebankInfo:
    return TreebankInfo(name=name, title=name, source=NOT_STATED, license=NOT_STATED, commercial=NOT_STATED)
