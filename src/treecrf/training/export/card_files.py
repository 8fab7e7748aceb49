"""The files of a model card: JSON for programs, Markdown for people."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from treecrf.parser.models.model_card import (
    CARD_JSON,
    CARD_MARKDOWN,
    LONG,
    NOT_STATED,
    ModelCard,
    ModelSpeed,
    Purpose,
    TreebankCalibration,
    TreebankInfo,
    TreebankScore,
    TreebankWellFormedness,
    format_megabytes,
    model_bytes,
)
from treecrf.training.markdown import markdown_table
from treecrf.trees.treebank.binarize import constituent_labels

_CITATION = """\
If you use this model, please name treecrf and its version, the treebanks above, and the paper that describes the
method: Yu Zhang, Houquan Zhou and Zhenghua Li (2020), *Fast and Accurate Neural CRF Constituency Parsing*, IJCAI.
"""


def new_card(folder: Path, purpose: Purpose, labels: Iterable[str], tags: Iterable[str], **fields: Any) -> ModelCard:
    """Returns the card of a folder's model; `fields` are the commit, the data, the recipe and the measurements."""
    return ModelCard(
        name=folder.name,
        purpose=purpose,
        version=version("treecrf"),
        size=model_bytes(folder),
        labels=constituent_labels(labels),
        tags=tuple(sorted(tags)),
        **fields,
    )


def save_card(card: ModelCard, folder: Path) -> None:
    text = json.dumps(asdict(card), ensure_ascii=False, indent=1)
    (folder / CARD_JSON).write_text(text + "\n", encoding="utf-8")
    (folder / CARD_MARKDOWN).write_text(to_markdown(card), encoding="utf-8")


def to_markdown(card: ModelCard) -> str:
    return "\n".join(_lines(card)) + "\n"


def _lines(card: ModelCard) -> Iterator[str]:
    purpose = card.purpose
    yield from (f"# {card.name}", "", purpose.summary, "")
    facts = {
        "language": purpose.language,
        "license": f"{purpose.license}: {purpose.license_reason}",
        "size": f"{format_megabytes(card.size)}: large matrices in bytes, with one scale for each row",
        "made with": f"treecrf {card.version}, commit {card.commit or 'unknown'}",
    }
    yield from markdown_table(["", ""], facts.items())
    yield from ("", "## Use", "", purpose.uses, "")
    yield from ("```console", f"$ treecrf parse --model {card.name} FILE", "```", "")
    if card.scores:
        yield from ("## Scores", "", *_score_lines(card.scores), "")
    if card.well_formedness:
        yield from ("## Well-formedness", "", *_well_formedness_lines(card.well_formedness), "")
    if card.calibration:
        yield from ("## Calibration", "", *_calibration_lines(card.calibration), "")
    if card.speed or purpose.speeds:
        yield from ("## Speed and memory", "", *_speed_lines(card.speed, purpose.speeds), "")
    if card.data:
        yield from ("## Data", "", *_data_lines(card), "")
    yield from ("## Limits", "", *(f"- {limit}" for limit in purpose.limits), "")
    yield from ("## Labels", "", f"{len(card.labels)} constituents: {_code(card.labels)}", "")
    yield from (f"{len(card.tags)} tags: {_code(card.tags)}", "")
    if card.recipe:
        yield from ("## Training", "", "```toml", card.recipe.strip(), "```", "")
    yield from ("## Citation", "", _CITATION.strip())


def _score_lines(scores: Sequence[TreebankScore]) -> Iterator[str]:
    yield "Labeled F1 over all sentences, with punctuation deleted by the gold tags, and its 95% interval (bootstrap"
    yield "over sentences), measured with the files of this folder. EVALB deletes punctuation by the predicted tags and"
    yield "skips sentences in which a wrong punctuation tag changes the length."
    yield ""
    yield from markdown_table(
        ("test set", "sentences", "F1", "EVALB's F1", "skipped by EVALB", "tagging accuracy", "F1, lower-cased words"),
        (
            (
                *(score.name, str(score.sentences), f"{score.f1:.2f} ({_format_interval(score.interval)})"),
                *(f"{score.evalb_f1:.2f} ({_format_interval(score.evalb_interval)})", str(score.skipped)),
                *("gold tags" if score.tagging is None else f"{score.tagging:.2f}", f"{score.lower_f1:.2f}"),
            )
            for score in scores
        ),
    )
    yield ""
    yield "Test sentences that also occur in the training data, regardless of case:"
    yield ""
    yield from markdown_table(
        ("test set", "in the training data", f"of {LONG} words or more", "F1 without them"),
        ((score.name, str(score.seen), str(score.seen_long), f"{score.unseen_f1:.2f}") for score in scores),
    )


def _format_interval(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{low:.2f} to {high:.2f}"


def _well_formedness_lines(entries: Sequence[TreebankWellFormedness]) -> Iterator[str]:
    names = list(dict.fromkeys(name for entry in entries for name in entry.violations))
    if names:
        yield "Ill-formed trees have a structure that the annotation guidelines of the Penn Treebank exclude."
    yield "Unseen productions occur in no training tree. The first figure is for the gold trees, the second for"
    yield "the trees of this model."
    yield ""
    rows = [_well_formedness_cells(entry) for entry in entries]
    titles = ["test set", "trees", "ill-formed", *names, "unseen productions"]
    titles = [title for title in titles if any(title in row for row in rows)]
    yield from markdown_table(titles, ([row.get(title, "") for title in titles] for row in rows))


def _well_formedness_cells(entry: TreebankWellFormedness) -> dict[str, str]:
    cells = {"test set": entry.name, "trees": str(entry.trees)}
    if entry.ill_formed is not None:
        cells["ill-formed"] = " / ".join(f"{100 * count / entry.trees:.1f} %" for count in entry.ill_formed)
    cells |= {name: " / ".join(map(str, counts)) for name, counts in entry.violations.items()}
    if entry.unseen_productions is not None:
        cells["unseen productions"] = " / ".join(f"{share:.2f} %" for share in entry.unseen_productions)
    return cells


def _calibration_lines(entries: Sequence[TreebankCalibration]) -> Iterator[str]:
    yield "Expected calibration error: the mean difference between the probability of a prediction and the share of"
    yield "correct predictions, in 15 bins. The calibration was fitted on development sets."
    yield ""
    head = ("test set", "sentences", "constituents", "error, labeled constituents", "error, whole trees")
    rows = (
        (
            *(entry.name, str(entry.sentences), str(entry.constituents)),
            *(f"{entry.constituent_error:.4f}", f"{entry.tree_error:.4f}"),
        )
        for entry in entries
    )
    yield from markdown_table(head, rows)


def _speed_lines(speed: ModelSpeed | None, others: Iterable[str]) -> Iterator[str]:
    if speed is not None:
        yield f"- {speed.sentences_per_second:,.0f} sentences/s on {speed.device}: `{speed.parser}`,"
        yield f"  {speed.sentences} test sentences of {speed.mean_words:.1f} words on average, from memory to brackets."
        if speed.peak_memory is not None:
            yield f"- {format_megabytes(speed.peak_memory)} of memory at most, in a process that parses them on a CPU."
    yield from (f"- {other}" for other in others)


def _data_lines(card: ModelCard) -> Iterator[str]:
    yield from markdown_table(
        ("treebank", "source", "license", "commercial use"),
        ((treebank.title, treebank.source, treebank.license, treebank.commercial) for treebank in card.data),
    )
    purpose = card.purpose
    if purpose.encoder:
        yield from ("", f"Fine-tuned from {purpose.encoder} ({purpose.encoder_license}).")
    if purpose.vectors:
        yield from ("", f"Word vectors: {purpose.vectors} ({purpose.vectors_license}).")


def _code(names: Sequence[str]) -> str:
    return " ".join(f"`` {name} ``" if "`" in name else f"`{name}`" for name in names)


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
