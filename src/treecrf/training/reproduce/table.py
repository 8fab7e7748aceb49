"""The scores of finished runs, and score tables: means over seeds, compared with the main row and with the paper."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from treecrf.training.reproduce.paper import BY_NAME, Claim, PublishedScore, Row, paper_differences, verdict
from treecrf.training.reproduce.plan import Plan
from treecrf.training.reproduce.worker import OUTCOME, predictions_path
from treecrf.trees.evalb import Rules, Score, evaluate, find_rules
from treecrf.trees.evalb.bootstrap import Comparison, compare_runs
from treecrf.trees.treebank import read_trees


@dataclass(frozen=True, eq=False)
class Results:
    """The scores of the trees that the finished runs of a plan have predicted."""

    plan: Plan

    @cached_property
    def rules(self) -> Rules:
        """The EVALB rules of the plan, without a limit on errors."""
        return replace(find_rules(self.plan.recipe(self.plan.runs()[0]).data.rules), max_error=None)

    def seeds(self, row: str) -> list[int]:
        return [seed for seed in self.plan.seeds if (self.folder(row, seed) / OUTCOME).exists()]

    def folder(self, row: str, seed: int) -> Path:
        return self.plan.run(BY_NAME[row], seed).folder

    def scores(self, row: str, part: str) -> list[Score]:
        return [self.score(row, part, seed) for seed in self.seeds(row)]

    @cache  # noqa: B019  # the cache may live as long as the results
    def score(self, row: str, part: str, seed: int) -> Score:
        predicted = read_trees(predictions_path(self.folder(row, seed), part, mbr=BY_NAME[row].mbr))
        return evaluate(self.plan.treebank.trees[part], predicted, rules=self.rules, use_gold_tags=True)

    def common_seeds(self, row: str, other: str) -> list[int]:
        return [seed for seed in self.seeds(row) if seed in self.seeds(other)]

    def compare(self, row: str, other: str, part: str) -> Comparison | None:
        """Tests the difference of two rows over their common seeds; None if there is no common seed."""
        seeds = self.common_seeds(row, other)
        row_scores, other_scores = ([self.score(name, part, seed) for seed in seeds] for name in (row, other))
        return compare_runs(row_scores, other_scores) if seeds else None


def score_rows(
    results: Results,
    rows: Sequence[Row],
    part: str,
    *,
    main: str,
    published: Mapping[str, PublishedScore] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Returns the scores of all rows that have a finished run, in JSON values: means over seeds, in percent."""
    return [_score_row(results, row, part, main, published.get(row.name)) for row in rows if results.seeds(row.name)]


def _score_row(results: Results, row: Row, part: str, main: str, published: PublishedScore | None) -> dict[str, Any]:
    scores = results.scores(row.name, part)
    f1s = [score.f1 for score in scores]
    comparison = results.compare(row.name, main, part) if row.name != main else None
    return {
        "name": row.name,
        "title": row.title,
        "seeds": results.seeds(row.name),
        "f1s": f1s,
        "precision": statistics.fmean(score.precision for score in scores),
        "recall": statistics.fmean(score.recall for score in scores),
        "f1": statistics.fmean(f1s),
        "deviation": statistics.stdev(f1s) if len(f1s) > 1 else None,
        "complete_match": statistics.fmean(score.all.complete_match for score in scores),
        "against_main": comparison and comparison._asdict(),
        "paper": published and published._asdict(),
    }


def check_claims(results: Results, claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Compares claims of the paper with the results on dev; claims about unfinished rows are left out."""
    comparisons = [(claim, results.compare(claim.row, claim.other, "dev")) for claim in claims]
    return [
        {
            "claim": claim.text,
            "row": claim.row,
            "other": claim.other,
            "found": comparison._asdict(),
            "verdict": verdict(claim, comparison, seeds=len(results.common_seeds(claim.row, claim.other))),
            "paper": paper_differences(claim),
        }
        for claim, comparison in comparisons
        if comparison
    ]
