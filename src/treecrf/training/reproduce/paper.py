"""The scores, speeds and claims of the paper (Zhang, Zhou and Li, 2020), and its treebanks."""

from typing import NamedTuple

from treecrf.trees.evalb.bootstrap import Comparison
from treecrf.trees.treebank.releases import RELEASES


class PublishedScore(NamedTuple):
    """Precision, recall and F1, in percent; the paper's text has some F1 without the others."""

    precision: float | None
    recall: float | None
    f1: float


TITLES = {"ptb": "PTB", "ctb5": "CTB5.1", "ctb7": "CTB7"}
SETTINGS = {"ptb": (), "ctb5": ("data.language=zh", "data.rules=ctb"), "ctb7": ("data.language=zh", "data.rules=ctb")}
DEV = {
    "ptb": {
        "one-stage-margin": PublishedScore(93.70, 93.73, 93.72),
        "one-stage-crf": PublishedScore(93.44, 93.75, 93.60),
        "two-stage": PublishedScore(93.77, 93.96, 93.86),
        "no-mbr": PublishedScore(93.75, 93.85, 93.80),
        "minus": PublishedScore(93.40, 93.35, 93.37),
        "vanilla-dropout": PublishedScore(92.80, 93.00, 92.90),
    },
    "ctb5": {
        "one-stage-margin": PublishedScore(90.60, 90.48, 90.54),
        "one-stage-crf": PublishedScore(91.08, 90.98, 91.03),
        "two-stage": PublishedScore(90.91, 91.09, 91.00),
        "no-mbr": PublishedScore(90.93, 91.10, 91.02),
        "minus": PublishedScore(90.60, 90.51, 90.56),
        "vanilla-dropout": PublishedScore(89.68, 89.68, 89.68),
    },
    "ctb7": {
        "one-stage-margin": PublishedScore(86.85, 86.08, 86.47),
        "one-stage-crf": PublishedScore(87.10, 86.75, 86.93),
        "two-stage": PublishedScore(87.27, 87.00, 87.13),
        "no-mbr": PublishedScore(87.21, 86.89, 87.05),
        "minus": PublishedScore(86.96, 86.24, 86.60),
        "vanilla-dropout": PublishedScore(85.55, 85.54, 85.54),
    },
}
TEST = {
    "ptb": {
        "random": PublishedScore(93.84, 93.58, 93.71),
        "vectors": PublishedScore(94.23, 94.02, 94.12),
        "frozen": PublishedScore(95.85, 95.53, 95.69),
    },
    "ctb5": {
        "random": PublishedScore(89.18, 89.03, 89.10),
        "vectors": PublishedScore(89.71, 89.89, 89.80),
        "vectors-gold-tags": PublishedScore(None, None, 92.66),
        "frozen": PublishedScore(92.51, 92.04, 92.27),
    },
    "ctb7": {
        "random": PublishedScore(87.66, 87.21, 87.43),
        "vectors": PublishedScore(88.84, 88.36, 88.60),
        "frozen": PublishedScore(91.73, 91.38, 91.55),
    },
}
# sentences per second on the test set of PTB
SPEED = {"one-stage-crf, without MBR": 990, "two-stage, with MBR": 743, "two-stage, without MBR": 1092}


def published_scores(table: str, corpus: str) -> dict[str, PublishedScore]:
    """Returns the published scores of a table, by row; empty if the paper does not have the treebank."""
    return {"dev": DEV, "test": TEST}.get(table, {}).get(corpus, {})


def corpus_of_size(train: int, dev: int, test: int) -> str:
    """Returns the paper's treebank with these numbers of sentences, or an empty string."""
    for name in TITLES:
        expected = RELEASES[name].expected
        if expected is not None and expected[:3] == (train, dev, test):
            return name
    return ""


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
    """Says whether a measured difference agrees with a claim."""
    is_chance = comparison.p_value > SIGNIFICANCE_LEVEL
    if claim.expects_gain:
        if comparison.difference <= 0:
            return "not confirmed" if is_chance else "the opposite"
        return "same direction, may be chance" if is_chance else "agrees"
    if is_chance:
        return "agrees: no difference beyond chance"
    return "agrees: better" if comparison.difference > 0 else "the opposite: worse"


def paper_differences(claim: Claim) -> dict[str, float]:
    """Returns the differences in dev F1 that the paper's table has, by treebank."""
    tables = {title: DEV[name] for name, title in TITLES.items()}
    return {
        title: rows[claim.row].f1 - rows[claim.other].f1
        for title, rows in tables.items()
        if claim.row in rows and claim.other in rows
    }
