"""Score tables: each row's mean over seeds, compared with the main row and with the paper."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from treecrf.training.reproduce.ablations import Row
from treecrf.training.reproduce.claims import Claim, paper_differences, verdict
from treecrf.training.reproduce.paper import PublishedScore
from treecrf.training.reproduce.results import Results
from treecrf.trees.evalb.bootstrap import Comparison, compare_runs


@dataclass(frozen=True, kw_only=True)
class RowScores:
    """The scores of a row: means over seeds, in percent."""

    name: str
    title: str
    seeds: list[int]
    f1s: list[float]
    precision: float
    recall: float
    f1: float
    deviation: float | None  # standard deviation of F1 over seeds; None for one seed
    complete_match: float
    against_main: Comparison | None
    paper: PublishedScore | None

    def as_dict(self) -> dict[str, Any]:
        """The scores in JSON values."""
        comparison = None if self.against_main is None else _comparison_dict(self.against_main)
        return asdict(self) | {"against_main": comparison, "paper": self.paper and self.paper._asdict()}


def score_rows(
    results: Results, rows: Sequence[Row], part: str, *, main: str, published: dict[str, PublishedScore]
) -> list[RowScores]:
    """The scores of all rows that have a finished run."""
    return [_score_row(results, row, part, main, published.get(row.name)) for row in rows if results.seeds(row.name)]


def _score_row(results: Results, row: Row, part: str, main: str, published: PublishedScore | None) -> RowScores:
    scores = results.scores(row.name, part)
    f1s = [score.f1 for score in scores]
    common_seeds = [seed for seed in results.seeds(row.name) if seed in results.seeds(main)]
    is_compared = row.name != main and common_seeds
    return RowScores(
        name=row.name,
        title=row.title,
        seeds=results.seeds(row.name),
        f1s=f1s,
        precision=statistics.fmean(score.precision for score in scores),
        recall=statistics.fmean(score.recall for score in scores),
        f1=statistics.fmean(f1s),
        deviation=statistics.stdev(f1s) if len(f1s) > 1 else None,
        complete_match=statistics.fmean(score.all.complete_match for score in scores),
        against_main=_compare(results, row.name, main, part, common_seeds) if is_compared else None,
        paper=published,
    )


def _compare(results: Results, row: str, other: str, part: str, seeds: Sequence[int]) -> Comparison:
    row_scores, other_scores = ([results.score(name, part, seed) for seed in seeds] for name in (row, other))
    return compare_runs(row_scores, other_scores)


def check_claims(results: Results, claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Compares claims of the paper with the results on dev; claims about unfinished rows are left out."""
    checked = []
    for claim in claims:
        seeds = [seed for seed in results.seeds(claim.row) if seed in results.seeds(claim.other)]
        if seeds:
            checked.append(_claim_dict(claim, _compare(results, claim.row, claim.other, "dev", seeds)))
    return checked


def _claim_dict(claim: Claim, comparison: Comparison) -> dict[str, Any]:
    return {
        "claim": claim.text,
        "row": claim.row,
        "other": claim.other,
        "found": _comparison_dict(comparison),
        "verdict": verdict(claim, comparison),
        "paper": paper_differences(claim),
    }


def _comparison_dict(comparison: Comparison) -> dict[str, Any]:
    return {**comparison._asdict(), "interval": list(comparison.interval)}
