"""The claims of the paper about rows of its experiments, for comparison with results on other treebanks."""

from typing import NamedTuple

from treecrf.training.reproduce import paper
from treecrf.trees.evalb.bootstrap import Comparison


class Claim(NamedTuple):
    """The claim that one row has a higher F1 than another, or, without `expects_gain`, about the same F1."""

    text: str
    row: str
    other: str
    expects_gain: bool


CLAIMS = (
    Claim("biaffine scores are better than minus features", "two-stage", "minus", True),
    Claim("dropout shared over time is better than vanilla dropout", "two-stage", "vanilla-dropout", True),
    Claim("two stages are not worse than one stage", "two-stage", "one-stage-crf", False),
    Claim("the CRF loss is about as good as max-margin, or better", "one-stage-crf", "one-stage-margin", False),
    Claim("MBR makes little difference", "two-stage", "no-mbr", False),
)
REMARKS = (  # claims outside the tables
    Claim("f_i + b_{i+1} is better than f_i + b_i at a boundary", "two-stage", "same-word", True),
    Claim("gold tags as input are better than none", "gold-tags", "two-stage", True),
    Claim("a margin of 1 is not worse than 0.5", "one-stage-margin", "margin-0.5", False),
    Claim("a margin of 1 is not worse than 2", "one-stage-margin", "margin-2", False),
)
SIGNIFICANCE_LEVEL = 0.05


def verdict(claim: Claim, comparison: Comparison) -> str:
    """Whether a measured difference agrees with a claim."""
    is_chance = comparison.p_value > SIGNIFICANCE_LEVEL
    if claim.expects_gain:
        if comparison.difference <= 0:
            return "not confirmed" if is_chance else "the opposite"
        return "same direction, may be chance" if is_chance else "agrees"
    if is_chance:
        return "agrees: no difference beyond chance"
    return "agrees: better" if comparison.difference > 0 else "the opposite: worse"


def paper_differences(claim: Claim) -> dict[str, float]:
    """The differences in dev F1 that the paper's table has, by treebank."""
    tables = {title: paper.DEV[name] for name, title in paper.TITLES.items()}
    return {
        title: rows[claim.row].f1 - rows[claim.other].f1
        for title, rows in tables.items()
        if claim.row in rows and claim.other in rows
    }
