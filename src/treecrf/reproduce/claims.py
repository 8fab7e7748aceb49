"""What the paper says of its dev table, one by one, to be held against other treebanks."""

from typing import NamedTuple

from treecrf.evalb.bootstrap import Comparison
from treecrf.reproduce import paper


class Claim(NamedTuple):
    """That one row is better than another, or, with `expected` of 0, that they are about the same."""

    text: str
    row: str
    other: str
    expected: int


CLAIMS = (
    Claim("biaffine scores are better than minus features", "two-stage", "minus", 1),
    Claim("dropout shared over time is better than vanilla dropout", "two-stage", "vanilla-dropout", 1),
    Claim("two stages do not hurt, against one", "two-stage", "one-stage-crf", 0),
    Claim("the CRF loss is about as good as max-margin, or better", "one-stage-crf", "one-stage-margin", 0),
    Claim("MBR makes little difference", "two-stage", "no-mbr", 0),
)
LEVEL = 0.05


def verdict(claim: Claim, comparison: Comparison) -> str:
    """Whether a difference agrees with a claim."""
    is_chance = comparison.p_value > LEVEL
    if claim.expected:
        if comparison.difference <= 0:
            return "no sign of it" if is_chance else "the opposite"
        return "same direction, may be chance" if is_chance else "agrees"
    if is_chance:
        return "agrees: no difference beyond chance"
    return "agrees: better" if comparison.difference > 0 else "the opposite: worse"


def paper_differences(claim: Claim) -> dict[str, float]:
    """The paper's own differences in dev F, by treebank."""
    tables = {title: paper.DEV[name] for name, title in paper.TITLES.items()}
    return {title: rows[claim.row].f1 - rows[claim.other].f1 for title, rows in tables.items()}
