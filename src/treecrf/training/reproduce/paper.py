"""The paper (Zhang, Zhou and Li, 2020): its scores, speeds, claims and treebanks, and the rows of its tables and ours.

A row of `rows.toml` is trained with its settings on top of the treebank's. A row that differs only in decoding, or that
is in two tables, shares the runs of another row.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from treecrf.config import read_data
from treecrf.trees.evalb.bootstrap import Comparison
from treecrf.trees.treebank.releases import RELEASES

MAIN = "two-stage"
DEFAULT_TABLES = ("dev", "remarks", "test", "speed")  # tables of the paper; the others are ours


class PublishedScore(NamedTuple):
    """Precision, recall and F1, in percent; the paper's text has some F1 without the others."""

    precision: float | None
    recall: float | None
    f1: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table."""

    name: str
    title: str
    settings: tuple[str, ...] = ()  # may contain {vectors}, {unknown} and {encoder}, which the plan fills in
    shares_runs_with: str = ""  # the row whose runs are used, if this row is not trained
    mbr: bool = True
    needs: Literal["", "vectors", "encoder"] = ""
    train_share: float = 1.0  # share of the training trees

    @property
    def trained_name(self) -> str:
        """The name of the row whose runs are used."""
        return self.shares_runs_with or self.name


_DATA, _ROWS = read_data(__file__), read_data(__file__, "rows.toml")
TITLES: dict[str, str] = _DATA["titles"]  # by treebank
SETTINGS: dict[str, list[str]] = _DATA["settings"]
SPEED: dict[str, int] = _DATA["speed"]
MARGIN = 0.3  # points of F1: less than any difference that the paper calls a gain
BY_NAME = {
    name: Row(name=name, **(row | {"settings": tuple(row.get("settings", ()))})) for name, row in _ROWS["rows"].items()
}
TABLES: dict[str, tuple[Row, ...]] = {  # the rows whose runs a table needs
    table: tuple(BY_NAME[name] for name in names) for table, names in _ROWS["tables"].items()
}
VARIANTS = tuple(row for row in TABLES["analysis"] if not row.name.startswith("share-"))
LEARNING_CURVE = TABLES["analysis"][len(VARIANTS) :]


def published_scores(table: str, corpus: str) -> dict[str, PublishedScore]:
    """Returns the published scores of a table, by row; empty if the paper does not have the treebank."""
    scores = _DATA[table].get(corpus, {}) if table in ("dev", "test") else {}
    return {row: PublishedScore(*[None, None, *numbers][-3:]) for row, numbers in scores.items()}


def corpus_of_size(train: int, dev: int, test: int) -> str:
    """Returns the paper's treebank with these numbers of sentences, or an empty string."""
    for name in TITLES:
        expected = RELEASES[name].expected
        if expected is not None and expected[:3] == (train, dev, test):
            return name
    return ""


class Claim(NamedTuple):
    """The claim that one row has a better F1 than another, not a worse one, or the same within `MARGIN`."""

    text: str
    row: str
    other: str
    kind: Literal["better", "not worse", "same"]


CLAIMS = tuple(Claim(*claim) for claim in _DATA["claims"]["dev"])
REMARKS = tuple(Claim(*claim) for claim in _DATA["claims"]["remarks"])  # claims outside the tables


def verdict(claim: Claim, comparison: Comparison, *, seeds: int) -> str:
    """Says whether measurements support or contradict a claim, by the 95% interval of the difference.

    A claim is supported if all differences in the interval agree with it, and contradicted if none does. One seed
    decides nothing, because it does not show how much seeds differ.
    """
    lowest, highest = {"better": (0.0, math.inf), "not worse": (-MARGIN, math.inf), "same": (-MARGIN, MARGIN)}[
        claim.kind
    ]
    low, high = comparison.interval
    if seeds > 1 and lowest < low and high < highest:
        return "supported"
    if seeds > 1 and (high < lowest or low > highest):
        return "contradicted"
    return "not decided"


def paper_differences(claim: Claim) -> dict[str, float]:
    """Returns the differences in dev F1 that the paper's table has, by treebank."""
    tables = {title: published_scores("dev", name) for name, title in TITLES.items()}
    return {
        title: rows[claim.row].f1 - rows[claim.other].f1
        for title, rows in tables.items()
        if claim.row in rows and claim.other in rows
    }
