"""Beta calibration of constituent probabilities (Kull, Silva Filho and Flach, 2017).

A temperature cannot correct probabilities where the trees of a treebank disagree with each other. Beta calibration has
one weight for log p and another for log (1 - p).
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from treecrf.trees.analysis import Analysis, Constituent

_CERTAIN = 1e-6  # probabilities closer to 0 or 1 come from constraints or the root and are not changed


class BetaCalibration(NamedTuple):
    """Maps a probability p to the one whose log-odds are a * log p - b * log (1 - p) + c.

    >>> BetaCalibration()(0.7), round(BetaCalibration(a=0.5, b=0.5)(0.9), 3), BetaCalibration(c=1.0)(1.0)
    (0.7, 0.75, 1.0)
    """

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0

    def __call__(self, probability: float) -> float:
        if self == BetaCalibration() or not _CERTAIN < probability < 1 - _CERTAIN:
            return probability
        log_odds = self.a * math.log(probability) - self.b * math.log1p(-probability) + self.c
        odds = math.exp(-abs(log_odds))  # at most 1, so that it does not overflow
        return (odds if log_odds < 0 else 1) / (1 + odds)

    def apply(self, analysis: "Analysis") -> "Analysis":
        """The analysis with calibrated constituent probabilities."""
        if self == BetaCalibration():
            return analysis
        alternatives = tuple(
            replace(alternative, constituents=self._calibrate(alternative.constituents))
            for alternative in analysis.alternatives
        )
        return replace(analysis, constituents=self._calibrate(analysis.constituents), alternatives=alternatives)

    def _calibrate(self, constituents: "tuple[Constituent, ...]") -> "tuple[Constituent, ...]":
        return tuple(replace(constituent, calibrated=self(constituent.probability)) for constituent in constituents)
