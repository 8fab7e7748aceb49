"""Model cards: the data, the recipe and the scores of a model, as JSON and as Markdown."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treecrf.atomic_io import parse_json, read_regular_file
from treecrf.config import tomllib

CARD_JSON, CARD_MARKDOWN = "card.json", "README.md"

NOT_STATED = "not stated"
LONG = 6  # words; shorter sentences, such as headings, occur in many texts

_CITATION = """\
If you use this model, please name treecrf and its version, the treebanks above, and the paper that describes the
method: Yu Zhang, Houquan Zhou and Zhenghua Li (2020), *Fast and Accurate Neural CRF Constituency Parsing*, IJCAI.
"""


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """The part of a card that people write; the rest is read from the model's files or measured."""

    summary: str
    language: str
    licence: str  # in a few words
    licence_reason: str
    uses: str
    limits: tuple[str, ...]
    tests: tuple[str, ...]  # treebanks whose test sets are scored
    encoder: str = ""  # public name of the pretrained encoder that was fine-tuned
    encoder_licence: str = ""
    vectors: str = ""  # pretrained word vectors
    vectors_licence: str = ""
    speeds: tuple[str, ...] = ()  # measured on other machines, in words
    licence_id: str = ""  # SPDX identifier of the license, for the metadata of a package
    licence_text: str = ""  # license file of a package

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9.+() -]*", self.licence_id):
            raise ValueError(f"licence_id is {self.licence_id!r:.100}; expected an SPDX identifier, such as CC-BY-4.0")


@dataclass(frozen=True, kw_only=True)
class TreebankInfo:
    """A treebank that a model was trained on."""

    name: str
    title: str
    source: str
    licence: str
    commercial: str  # whether commercial use is allowed


@dataclass(frozen=True, kw_only=True)
class TreebankScore:
    """Scores on one test set, in percent, with 95% intervals.

    A seen sentence has the same words as a sentence of the training data, regardless of case.
    """

    name: str
    sentences: int
    f1: float  # over all sentences: punctuation is deleted by the gold tags
    interval: tuple[float, float]
    evalb_f1: float  # punctuation is deleted by the predicted tags
    evalb_interval: tuple[float, float]
    skipped: int  # sentences that EVALB does not score, because a punctuation tag is wrong
    tagging: float  # tagging accuracy of the sentences that EVALB scores
    lower_f1: float  # over all sentences, with the words in lower case
    seen: int
    seen_long: int  # seen sentences of at least LONG words
    unseen_f1: float  # over the sentences that are not seen


@dataclass(frozen=True, kw_only=True)
class TreebankWellFormedness:
    """Well-formedness of the gold trees and of the model's trees on one test set."""

    name: str
    trees: int
    ill_formed: tuple[int, int]  # gold trees and the model's trees with at least one violation
    violations: dict[str, tuple[int, int]]  # by name: gold trees and the model's trees with this violation
    # share of productions that the model's training trees do not have, of both, in percent; None if they are not known
    unseen_productions: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class TreebankCalibration:
    """Expected calibration errors on one test set."""

    name: str
    sentences: int
    constituents: int  # that the model predicts
    constituent_error: float  # of labeled constituents
    tree_error: float  # of whole trees


@dataclass(frozen=True, kw_only=True)
class ModelSpeed:
    """Speed and memory on the machine that packed the model."""

    sentences: int
    mean_words: float  # of a sentence
    sentences_per_second: float
    parser: str  # its device, precision and threads
    device: str
    peak_memory: int | None  # of a process that parses on a CPU, in bytes; None if it was not measured


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """A model card; the fields are the keys of card.json."""

    name: str
    purpose: Purpose
    version: str
    commit: str
    size: int  # bytes of all files, without the card
    data: tuple[TreebankInfo, ...]
    scores: tuple[TreebankScore, ...]
    well_formedness: tuple[TreebankWellFormedness, ...] = ()  # of the test sets with Penn's tags
    calibration: tuple[TreebankCalibration, ...] = ()  # none for a model without probabilities
    speed: ModelSpeed | None = None
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    recipe: str

    def save(self, folder: Path) -> None:
        """Writes the card as JSON and as Markdown into a model's folder."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        (folder / CARD_JSON).write_text(text + "\n", encoding="utf-8")
        (folder / CARD_MARKDOWN).write_text(to_markdown(self), encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> "ModelCard":
        """Reads the card of a model's folder."""
        path = folder / CARD_JSON
        fields = parse_json(read_regular_file(path), path)
        try:
            fields["purpose"] = Purpose(**fields["purpose"])
            fields["data"] = tuple(TreebankInfo(**entry) for entry in fields["data"])
            fields["scores"] = tuple(TreebankScore(**entry) for entry in fields["scores"])
            forms = fields.pop("well_formedness", ())  # cards of version 0.1 have none
            fields["well_formedness"] = tuple(TreebankWellFormedness(**entry) for entry in forms)
            fields["calibration"] = tuple(TreebankCalibration(**entry) for entry in fields.get("calibration", ()))
            fields["speed"] = ModelSpeed(**fields["speed"]) if fields.get("speed") else None
            if not all(isinstance(label, str) for name in ("labels", "tags") for label in fields[name]):
                raise ValueError("its labels or tags are not strings")
            return ModelCard(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} is not a model card: {error!s:.200}") from None


def read_treebanks(path: Path) -> dict[str, TreebankInfo]:
    """Reads the descriptions of treebanks from a TOML file with one table for each."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        return {name: TreebankInfo(name=name, **table) for name, table in tables.items()}
    except TypeError as error:
        raise ValueError(f"{path} does not describe treebanks: {error}") from None


def model_bytes(folder: Path) -> int:
    """The size of all files of a model without its card."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.name not in (CARD_JSON, CARD_MARKDOWN))


def format_megabytes(size: int) -> str:
    """A number of bytes in megabytes.

    >>> format_megabytes(33_800_000)
    '33.8 MB'
    """
    return f"{size / 1e6:.1f} MB"


def to_markdown(card: ModelCard) -> str:
    """The card as Markdown."""
    return "\n".join(_lines(card)) + "\n"


def _lines(card: ModelCard) -> Iterator[str]:
    purpose = card.purpose
    yield from (f"# {card.name}", "", purpose.summary, "")
    yield from ("| | |", "|---|---|")
    yield f"| language | {purpose.language} |"
    yield f"| license | {purpose.licence}: {purpose.licence_reason} |"
    yield f"| size | {format_megabytes(card.size)}: large matrices in 8 bits, with one scale for each row |"
    yield f"| made with | treecrf {card.version}, commit {card.commit or 'unknown'} |"
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
    yield from _table(
        ("test set", "sentences", "F1", "EVALB's F1", "skipped by EVALB", "tagging accuracy", "F1, lower-cased words"),
        (
            (
                *(score.name, str(score.sentences), f"{score.f1:.2f} ({_format_interval(score.interval)})"),
                *(f"{score.evalb_f1:.2f} ({_format_interval(score.evalb_interval)})", str(score.skipped)),
                *(f"{score.tagging:.2f}", f"{score.lower_f1:.2f}"),
            )
            for score in scores
        ),
    )
    yield ""
    yield "Test sentences whose words, regardless of case, are those of a sentence in the training data:"
    yield ""
    yield from _table(
        ("test set", "in the training data", f"of {LONG} words or more", "F1 without them"),
        ((score.name, str(score.seen), str(score.seen_long), f"{score.unseen_f1:.2f}") for score in scores),
    )


def _well_formedness_lines(entries: Sequence[TreebankWellFormedness]) -> Iterator[str]:
    yield "Trees with structures that the annotation guidelines of the Penn Treebank exclude, among the gold trees and,"
    yield "after the slash, among the trees of this model. Unseen productions are those of no training tree."
    yield ""
    names = list(entries[0].violations)
    has_productions = any(entry.unseen_productions for entry in entries)
    head = ["test set", "trees", "ill-formed", *names] + ["unseen productions"] * has_productions
    yield from _table(head, (_well_formedness_row(entry, names, has_productions) for entry in entries))


def _well_formedness_row(entry: TreebankWellFormedness, names: Iterable[str], has_productions: bool) -> list[str]:
    shares = " / ".join(f"{100 * count / entry.trees:.1f} %" for count in entry.ill_formed)
    row = [entry.name, str(entry.trees), shares]
    row += [" / ".join(map(str, entry.violations[name])) for name in names]
    if has_productions:
        row.append(" / ".join(f"{share:.2f} %" for share in entry.unseen_productions or ()))
    return row


def _calibration_lines(entries: Sequence[TreebankCalibration]) -> Iterator[str]:
    yield "Expected calibration error: the mean difference between the probability of a prediction and the share of"
    yield "correct predictions, in 15 bins. The calibration was fitted on development sets."
    yield ""
    yield from _table(
        ("test set", "sentences", "constituents", "error, labeled constituents", "error, whole trees"),
        (
            (
                *(entry.name, str(entry.sentences), str(entry.constituents)),
                *(f"{entry.constituent_error:.4f}", f"{entry.tree_error:.4f}"),
            )
            for entry in entries
        ),
    )


def _speed_lines(speed: ModelSpeed | None, others: Iterable[str]) -> Iterator[str]:
    if speed is not None:
        yield f"- {speed.sentences_per_second:,.0f} sentences/s on {speed.device}: `{speed.parser}`,"
        yield f"  {speed.sentences} sentences of {speed.mean_words:.1f} words, from tokens to brackets."
        if speed.peak_memory is not None:
            yield f"- {format_megabytes(speed.peak_memory)} of memory at most, in a process that parses them on a CPU."
    yield from (f"- {other}" for other in others)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"


def _format_interval(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{low:.2f} to {high:.2f}"


def _data_lines(card: ModelCard) -> Iterator[str]:
    yield from ("| treebank | source | license | commercial use |", "|---|---|---|---|")
    for treebank in card.data:
        yield f"| {treebank.title} | {treebank.source} | {treebank.licence} | {treebank.commercial} |"
    purpose = card.purpose
    if purpose.encoder:
        yield from ("", f"Fine-tuned from {purpose.encoder} ({purpose.encoder_licence}).")
    if purpose.vectors:
        yield from ("", f"Word vectors: {purpose.vectors} ({purpose.vectors_licence}).")


def _code(names: Sequence[str]) -> str:
    return " ".join(f"`` {name} ``" if "`" in name else f"`{name}`" for name in names)
