"""What came of the runs: the scores of the trees that each found."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from treecrf.evalb import Rules, Score, evaluate
from treecrf.reproduce.ablations import BY_NAME
from treecrf.reproduce.plan import Plan
from treecrf.reproduce.worker import OUTCOME, predictions
from treecrf.training.setup import read_rules
from treecrf.treebank import read_trees


@dataclass(frozen=True, eq=False)
class Results:
    """The scores of a plan's runs, as far as they are finished."""

    plan: Plan

    @cached_property
    def rules(self) -> Rules:
        """How the plan's trees are scored; no error ends the scoring."""
        name = self.plan.recipe(self.plan.runs()[0]).data.rules
        return replace(read_rules(name), max_error=None)

    def seeds(self, row: str) -> list[int]:
        """The seeds whose runs of a row are finished."""
        return [seed for seed in self.plan.seeds if (self.folder(row, seed) / OUTCOME).exists()]

    def folder(self, row: str, seed: int) -> Path:
        """Where a row's run is."""
        return self.plan.run(BY_NAME[row], seed).folder

    def scores(self, row: str, part: str) -> list[Score]:
        """One score of a part for each seed."""
        return [self.score(row, part, seed) for seed in self.seeds(row)]

    @cache  # noqa: B019  # as long as the results are there
    def score(self, row: str, part: str, seed: int) -> Score:
        """The score of one run."""
        found = read_trees(predictions(self.folder(row, seed), part, mbr=BY_NAME[row].mbr))
        return evaluate(self.plan.treebank.trees[part], found, rules=self.rules)
