"""Model cards: the data, the recipe and the scores of a model."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecrf.config import tomllib
from treecrf.files import parse_json, read_regular_file

CARD_JSON, CARD_MARKDOWN = "card.json", "README.md"
ADAPTATION_JSON = "adaptation.json"  # the verdict on a model that was adapted to trees of a user

NOT_STATED = "not stated"
_ABOUT = (CARD_JSON, CARD_MARKDOWN, ADAPTATION_JSON)
LONG = 6  # words; shorter sentences, such as headings, occur in many texts
_MAX_TEXT = 1000  # characters of a name, a label or the license
_MAX_NUMBER = 10**15


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """The part of a card that people write; the rest is read from the model's files or measured."""

    summary: str
    language: str
    license: str  # in a few words
    license_reason: str
    uses: str
    limits: tuple[str, ...]
    tests: tuple[str, ...]  # treebanks whose test sets are scored
    encoder: str = ""  # public name of the pretrained encoder that was fine-tuned
    encoder_license: str = ""
    vectors: str = ""  # pretrained word vectors
    vectors_license: str = ""
    speeds: tuple[str, ...] = ()  # measured on other machines, in words
    license_id: str = ""  # SPDX identifier of the license, for the metadata of a package
    license_text: str = ""  # license file of a package

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9.+() -]*", self.license_id):
            raise ValueError(f"license_id is {self.license_id!r:.100}; expected an SPDX identifier, such as CC-BY-4.0")


@dataclass(frozen=True, kw_only=True)
class TreebankInfo:
    """A treebank that a model was trained on."""

    name: str
    title: str
    source: str
    license: str
    commercial: str  # whether commercial use is allowed


@dataclass(frozen=True, kw_only=True)
class TreebankScore:
    """Scores on one test set, in percent, with 95% intervals.

    A seen sentence has the same words as a sentence of the training data, regardless of case, tokenization and spacing.
    """

    name: str
    sentences: int
    f1: float  # over all sentences: punctuation is deleted by the gold tags
    interval: tuple[float, float]
    evalb_f1: float  # punctuation is deleted by the predicted tags
    evalb_interval: tuple[float, float]
    skipped: int  # sentences that EVALB does not score, because a punctuation tag is wrong
    tagging: float | None  # tagging accuracy of the sentences that EVALB scores; None if the model has no tagger
    lower_f1: float  # over all sentences, with the words in lower case
    seen: int
    seen_long: int  # seen sentences of at least LONG words
    unseen_f1: float  # over the sentences that are not seen


@dataclass(frozen=True, kw_only=True)
class TreebankWellFormedness:
    """Well-formedness of the gold trees and of the model's trees on one test set."""

    name: str
    trees: int
    # gold trees and the model's trees with at least one violation; None for tags other than Penn's
    ill_formed: tuple[int, int] | None
    violations: dict[str, tuple[int, int]]  # by name: gold trees and the model's trees with this violation
    # share of productions that the model's training trees do not have, of both, in percent; None if they are not known
    unseen_productions: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class TreebankCalibration:
    """Expected calibration errors on one test set."""

    name: str
    sentences: int
    constituents: int  # that the model predicts
    constituent_error: float  # error of labeled constituents
    tree_error: float  # error of whole trees


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """The training of a model or of one of its teachers."""

    name: str  # the folder of the run
    recipe_digest: str  # SHA-256 of the file with its settings
    seed: int
    minutes: float  # set-up, training, and scoring of development trees
    device: str


@dataclass(frozen=True, kw_only=True)
class TreebankPrecision:
    """Trees of rounded products beside trees of float32 on one test set; scores over all sentences, in percent."""

    name: str
    precision: str  # int8 or int14 on a CPU, float16 on a GPU
    sentences: int
    f1: float
    float32_f1: float
    equal_trees: float  # trees that are the same with both, in percent


@dataclass(frozen=True, kw_only=True)
class ModelSpeed:
    """Speed and memory on the machine that packed the model."""

    sentences: int
    mean_words: float  # words per sentence
    sentences_per_second: float
    parser: str  # its device, precision and threads
    device: str
    peak_memory: int | None  # bytes of a process that parses on a CPU; None if it was not measured


_PART_TYPES: dict[str, Callable[..., object]] = {
    "data": TreebankInfo,
    "scores": TreebankScore,
    "well_formedness": TreebankWellFormedness,
    "calibration": TreebankCalibration,
    "precisions": TreebankPrecision,
    "runs": TrainingRun,
}


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
    well_formedness: tuple[TreebankWellFormedness, ...] = ()
    calibration: tuple[TreebankCalibration, ...] = ()  # none for a model without probabilities
    speed: ModelSpeed | None = None
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    recipe: str
    precisions: tuple[TreebankPrecision, ...] = ()
    runs: tuple[TrainingRun, ...] = ()  # the model and its teachers

    @staticmethod
    def load(folder: Path) -> "ModelCard":
        path = folder / CARD_JSON
        fields = parse_json(read_regular_file(path), path)
        try:
            fields = {"runs": (), "precisions": (), **fields}  # older cards have none
            fields["purpose"] = Purpose(**fields["purpose"])
            for name, kind in _PART_TYPES.items():
                fields[name] = tuple(kind(**part) for part in fields[name])
            fields["speed"] = ModelSpeed(**fields["speed"]) if fields["speed"] else None
            card = ModelCard(**fields)
            card.check_types()
            return card
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} is not a model card: {error!s:.200}") from None

    def check_types(self) -> None:
        """Checks the texts and numbers that commands and the server show: the card may be a stranger's."""
        shown_texts = (self.purpose.language, self.purpose.license, *(score.name for score in self.scores))
        for text in (*shown_texts, *self.labels, *self.tags):
            if not isinstance(text, str) or not text.isprintable() or len(text) > _MAX_TEXT:
                raise ValueError(f"{text!r:.80} is not a printable text of at most {_MAX_TEXT:,} characters")
        for number in (self.size, *(number for score in self.scores for number in (score.f1, *score.interval))):
            if not isinstance(number, int | float) or not 0 <= number < _MAX_NUMBER:
                raise ValueError(f"{number!r:.80} is not a number from 0 to {_MAX_NUMBER:,}")


def read_treebanks(path: Path) -> dict[str, TreebankInfo]:
    """Reads the descriptions of treebanks from a TOML file with one table for each."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        return {name: TreebankInfo(name=name, **table) for name, table in tables.items()}
    except TypeError as error:
        raise ValueError(f"{path} does not describe treebanks: {error}") from None


def model_bytes(folder: Path) -> int:
    """The size of all files of a model without its card."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.name not in _ABOUT)


def format_megabytes(size: int) -> str:
    """A number of bytes in megabytes.

    >>> format_megabytes(33_800_000)
    '33.8 MB'
    """
    return f"{size / 1e6:.1f} MB"
