"""The scores of the trees that finished runs have predicted."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from treecrf.training.reproduce.ablations import BY_NAME
from treecrf.training.reproduce.plan import Plan
from treecrf.training.reproduce.worker import OUTCOME, predictions_path
from treecrf.trees.evalb import Rules, Score, evaluate, find_rules
from treecrf.trees.treebank import read_trees


@dataclass(frozen=True, eq=False)
class Results:
    """The scores of the finished runs of a plan."""

    plan: Plan

    @cached_property
    def rules(self) -> Rules:
        """The EVALB rules of the plan, without a limit on errors."""
        name = self.plan.recipe(self.plan.runs()[0]).data.rules
        return replace(find_rules(name), max_error=None)

    def seeds(self, row: str) -> list[int]:
        """The seeds of a row's finished runs."""
        return [seed for seed in self.plan.seeds if (self.folder(row, seed) / OUTCOME).exists()]

    def folder(self, row: str, seed: int) -> Path:
        """The folder of a row's run."""
        return self.plan.run(BY_NAME[row], seed).folder

    def scores(self, row: str, part: str) -> list[Score]:
        """The scores of a row's finished runs on a part of the treebank."""
        return [self.score(row, part, seed) for seed in self.seeds(row)]

    @cache  # noqa: B019  # the cache may live as long as the results
    def score(self, row: str, part: str, seed: int) -> Score:
        """The score of one run on a part of the treebank."""
        predicted = read_trees(predictions_path(self.folder(row, seed), part, mbr=BY_NAME[row].mbr))
        return evaluate(self.plan.treebank.trees[part], predicted, rules=self.rules, use_gold_tags=True)
