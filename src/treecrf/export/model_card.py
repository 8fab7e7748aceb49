"""Model cards: the data, the recipe and the scores of a model, as JSON and as Markdown."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treecrf.config import tomllib

CARD_JSON, CARD_MARKDOWN = "card.json", "README.md"

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
    """EVALB's scores on one test set, in percent, with 95% intervals."""

    name: str
    sentences: int
    errors: int  # sentences that EVALB does not score, because a punctuation tag is wrong
    f1: float  # with predicted tags, if the model predicts tags
    interval: tuple[float, float]
    given_f1: float  # with gold tags
    given_interval: tuple[float, float]
    tagging: float  # tagging accuracy
    lower_f1: float  # with the words in lower case


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
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            fields["purpose"] = Purpose(**fields["purpose"])
            fields["data"] = tuple(TreebankInfo(**entry) for entry in fields["data"])
            fields["scores"] = tuple(TreebankScore(**entry) for entry in fields["scores"])
            return ModelCard(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} is not a model card: {error}") from None


def read_treebanks(path: Path) -> dict[str, TreebankInfo]:
    """Reads the descriptions of treebanks from a TOML file with one table for each."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        return {name: TreebankInfo(name=name, **table) for name, table in tables.items()}
    except TypeError as error:
        raise ValueError(f"{path} does not describe treebanks: {error}") from None


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
    yield from ("## Scores", "", *_score_lines(card.scores), "")
    yield from ("## Data", "", *_data_lines(card), "")
    yield from ("## Limits", "", *(f"- {limit}" for limit in purpose.limits), "")
    yield from ("## Labels", "", f"{len(card.labels)} constituents: {_code(card.labels)}", "")
    yield from (f"{len(card.tags)} tags: {_code(card.tags)}", "")
    yield from ("## Training", "", "```toml", card.recipe.strip(), "```", "")
    yield from ("## Citation", "", _CITATION.strip())


def _score_lines(scores: Sequence[TreebankScore]) -> Iterator[str]:
    yield "EVALB's F1 with its 95% interval (bootstrap over sentences), measured with the files of this folder."
    yield ""
    yield "| test set | sentences | F1, predicted tags | F1, gold tags | tagging accuracy | F1, lower-cased words |"
    yield "|---|---|---|---|---|---|"
    for score in scores:
        f1 = f"{score.f1:.2f} ({_format_interval(score.interval)})"
        gold_f1 = f"{score.given_f1:.2f} ({_format_interval(score.given_interval)})"
        yield f"| {score.name} | {score.sentences} | {f1} | {gold_f1} | {score.tagging:.2f} | {score.lower_f1:.2f} |"
    for score in scores:
        if score.errors:
            sentences = "1 sentence has" if score.errors == 1 else f"{score.errors} sentences have"
            yield ""
            yield (
                f"{score.name}: with predicted tags, {sentences} a wrong punctuation tag, and EVALB does not score "
                "such sentences. With gold tags it scores all sentences."
            )


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
