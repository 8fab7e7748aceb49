"""How well a parser knows how good it is: one part of a treebank, before and after calibration."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from treecrf.calibration.predictions import Evidence, gather
from treecrf.calibration.reliability import Answered, Reliability, reliability, risk_coverage
from treecrf.parser import Parser
from treecrf.tree import Tree

KINDS = {"labelled": "constituents, labelled", "unlabelled": "constituents, unlabelled", "trees": "whole trees"}


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The reliability of each kind of probability, and F where the parser may pass."""

    labelled: Reliability
    unlabelled: Reliability
    trees: Reliability
    coverage: tuple[Answered, ...]  # the surest sentences first: those with the highest expected share of right spans

    def as_dict(self) -> dict[str, Any]:
        """All of it, in values that JSON can hold."""
        kinds = {kind: asdict(getattr(self, kind)) for kind in KINDS}
        for kind in KINDS:
            kinds[kind]["bins"] = [bin_._asdict() for bin_ in getattr(self, kind).bins]
        return {**kinds, "coverage": [answered._asdict() for answered in self.coverage]}


def measure(parser: Parser, trees: Sequence[Tree], *, mbr: bool = True) -> Calibration:
    """Compare what a parser says of gold trees' words with the trees."""
    evidence = gather(parser, trees, mbr=mbr)
    found = {
        kind: reliability(points.probabilities, points.right)
        for kind, points in ((kind, getattr(evidence, kind)) for kind in KINDS)
    }
    return Calibration(**found, coverage=tuple(risk_coverage(_confidences(evidence), evidence.counts)))


def _confidences(evidence: Evidence) -> list[float]:
    """Of each sentence, the mean probability of the constituents that were found; 1 where there are none."""
    said = iter(evidence.labelled.probabilities)
    sums = [(sum(next(said) for _ in range(predicted)), predicted) for _, predicted, _ in evidence.counts]
    return [total / predicted if predicted else 1.0 for total, predicted in sums]
