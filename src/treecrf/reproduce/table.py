"""A table: the scores of rows over seeds, against the main row and against the paper."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from treecrf.evalb.bootstrap import Comparison, compare_runs
from treecrf.reproduce.ablations import Row
from treecrf.reproduce.claims import CLAIMS, Claim, paper_differences, verdict
from treecrf.reproduce.paper import Figure
from treecrf.reproduce.results import Results


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row over its seeds: means in percent, the deviation of F, and how it compares."""

    name: str
    title: str
    seeds: list[int]
    f1s: list[float]
    precision: float
    recall: float
    f1: float
    deviation: float | None  # of F between seeds; of one alone there is none
    complete_match: float
    against_main: Comparison | None
    paper: Figure | None

    def as_dict(self) -> dict[str, Any]:
        """All of it, in values that JSON can hold."""
        comparison = None if self.against_main is None else _comparison(self.against_main)
        return asdict(self) | {"against_main": comparison, "paper": self.paper and self.paper._asdict()}


def lines(results: Results, rows: Sequence[Row], part: str, *, main: str, figures: dict[str, Figure]) -> list[Line]:
    """The lines of those rows that have a finished run."""
    return [_line(results, row, part, main, figures.get(row.name)) for row in rows if results.seeds(row.name)]


def _line(results: Results, row: Row, part: str, main: str, figure: Figure | None) -> Line:
    scores = results.scores(row.name, part)
    f1s = [score.f1 for score in scores]
    shared = [seed for seed in results.seeds(row.name) if seed in results.seeds(main)]
    return Line(
        name=row.name,
        title=row.title,
        seeds=results.seeds(row.name),
        f1s=f1s,
        precision=statistics.fmean(score.precision for score in scores),
        recall=statistics.fmean(score.recall for score in scores),
        f1=statistics.fmean(f1s),
        deviation=statistics.stdev(f1s) if len(f1s) > 1 else None,
        complete_match=statistics.fmean(score.all.complete_match for score in scores),
        against_main=_compare(results, row.name, main, part, shared) if row.name != main and shared else None,
        paper=figure,
    )


def _compare(results: Results, row: str, other: str, part: str, seeds: Sequence[int]) -> Comparison:
    ours, theirs = ([results.score(name, part, seed) for seed in seeds] for name in (row, other))
    return compare_runs(ours, theirs)


def claims(results: Results) -> list[dict[str, Any]]:
    """The paper's claims about its dev table, those whose rows were run, with what was found here."""
    found = []
    for claim in CLAIMS:
        seeds = [seed for seed in results.seeds(claim.row) if seed in results.seeds(claim.other)]
        if seeds:
            found.append(_claim(claim, _compare(results, claim.row, claim.other, "dev", seeds)))
    return found


def _claim(claim: Claim, comparison: Comparison) -> dict[str, Any]:
    return {
        "claim": claim.text,
        "row": claim.row,
        "other": claim.other,
        "found": _comparison(comparison),
        "verdict": verdict(claim, comparison),
        "paper": paper_differences(claim),
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {**comparison._asdict(), "interval": list(comparison.interval)}
