"""A model's card: what it was made of and how well it does, as JSON for programs and Markdown for people."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treecrf.config import tomllib

FACTS, PAGE = "card.json", "README.md"

_CITATION = """\
If you use this model, please name treecrf and its version, the treebanks above, and the paper whose method it is: Yu
Zhang, Houquan Zhou and Zhenghua Li (2020), *Fast and Accurate Neural CRF Constituency Parsing*, IJCAI.
"""


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """What people have to say of a model; everything else on a card is found in its files, or measured."""

    summary: str
    language: str
    licence: str  # in a few words
    licence_reason: str
    uses: str
    limits: tuple[str, ...]
    tests: tuple[str, ...]  # treebanks of which the test part is parsed
    encoder: str = ""  # the pretrained one that was fine-tuned, by its public name, and its licence
    encoder_licence: str = ""
    vectors: str = ""  # the pretrained word vectors, and theirs
    vectors_licence: str = ""


@dataclass(frozen=True, kw_only=True)
class Treebank:
    """A treebank that a model was trained on."""

    name: str
    title: str
    source: str
    licence: str
    commercial: str


@dataclass(frozen=True, kw_only=True)
class PartScore:
    """EVALB's scores on a test part: F with predicted and with gold tags, their 95% intervals, and tagging accuracy."""

    name: str
    sentences: int
    errors: int  # sentences that a wrong tag of punctuation keeps EVALB from scoring
    f1: float
    interval: tuple[float, float]
    given_f1: float
    given_interval: tuple[float, float]
    tagging: float
    lower_f1: float  # of the same words in lower case


@dataclass(frozen=True, kw_only=True)
class Card:
    """All that a card says."""

    name: str
    purpose: Purpose
    version: str
    commit: str
    size: int  # in bytes, all files together but the card's own
    data: tuple[Treebank, ...]
    scores: tuple[PartScore, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    recipe: str

    def save(self, folder: Path) -> None:
        """Write both forms into a model's folder."""
        facts = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        (folder / FACTS).write_text(facts + "\n", encoding="utf-8")
        (folder / PAGE).write_text(page(self), encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> "Card":
        """The card of a model's folder."""
        path = folder / FACTS
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            facts["purpose"] = Purpose(**facts["purpose"])
            facts["data"] = tuple(Treebank(**entry) for entry in facts["data"])
            facts["scores"] = tuple(PartScore(**entry) for entry in facts["scores"])
            return Card(**facts)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} is no card of a model: {error}") from None


def read_treebanks(path: Path) -> dict[str, Treebank]:
    """The treebanks that a TOML file describes, a table each."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        return {name: Treebank(name=name, **table) for name, table in tables.items()}
    except TypeError as error:
        raise ValueError(f"{path} does not describe treebanks: {error}") from None


def megabytes(size: int) -> str:
    """A size for people."""
    return f"{size / 1e6:.1f} MB"


def page(card: Card) -> str:
    """The card as Markdown."""
    return "\n".join(_lines(card)) + "\n"


def _lines(card: Card) -> Iterator[str]:
    purpose = card.purpose
    yield from (f"# {card.name}", "", purpose.summary, "")
    yield from ("| | |", "|---|---|")
    yield f"| language | {purpose.language} |"
    yield f"| licence | {purpose.licence}: {purpose.licence_reason} |"
    yield f"| size | {megabytes(card.size)}: large matrices in 8 bits, a scale for each row |"
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


def _score_lines(scores: tuple[PartScore, ...]) -> Iterator[str]:
    yield "EVALB's F with its 95% interval (bootstrap over sentences), measured with the files of this folder."
    yield ""
    yield "| test part | sentences | F, predicted tags | F, gold tags given | tagging accuracy | F, lower-cased |"
    yield "|---|---|---|---|---|---|"
    for score in scores:
        own, given = (f"{low:.2f} to {high:.2f}" for low, high in (score.interval, score.given_interval))
        yield (
            f"| {score.name} | {score.sentences} | {score.f1:.2f} ({own}) | {score.given_f1:.2f} ({given}) | "
            f"{score.tagging:.2f} | {score.lower_f1:.2f} |"
        )
    for score in scores:
        if score.errors:
            yield ""
            yield (
                f"{score.name}: {score.errors} sentence{'s' * (score.errors > 1)} with a wrong tag of punctuation, "
                "which EVALB does not score with predicted tags; with gold tags given it scores all."
            )


def _data_lines(card: Card) -> Iterator[str]:
    yield from ("| treebank | source | licence | commercial use |", "|---|---|---|---|")
    for treebank in card.data:
        yield f"| {treebank.title} | {treebank.source} | {treebank.licence} | {treebank.commercial} |"
    purpose = card.purpose
    if purpose.encoder:
        yield from ("", f"Fine-tuned from {purpose.encoder} ({purpose.encoder_licence}).")
    if purpose.vectors:
        yield from ("", f"Word vectors: {purpose.vectors} ({purpose.vectors_licence}).")


def _code(names: tuple[str, ...]) -> str:
    return " ".join(f"`` {name} ``" if "`" in name else f"`{name}`" for name in names)
