"""The curve between how probable a parser's distribution makes a constituent and how probable it is said to be.

Where trees of a treebank disagree with each other, no temperature tells: a parser may be as sure as it likes of what
half of the annotators would have drawn otherwise. A curve with a weight for what speaks for a constituent and one for
what speaks against it does (beta calibration: Kull, Silva Filho and Flach, 2017).
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from treecrf.analysis import Analysis, Constituent

_CERTAIN = 1e-6  # what is closer to 0 or 1 was told, not guessed: constraints, and the root


class Curve(NamedTuple):
    """log-odds of what is said = pro * log p - con * log (1 - p) + offset, of a p that is computed.

    >>> Curve()(0.7), round(Curve(pro=0.5, con=0.5)(0.9), 3), Curve(offset=1.0)(1.0)
    (0.7, 0.75, 1.0)
    """

    pro: float = 1.0
    con: float = 1.0
    offset: float = 0.0

    def __call__(self, probability: float) -> float:
        if self == Curve() or not _CERTAIN < probability < 1 - _CERTAIN:
            return probability
        odds = self.pro * math.log(probability) - self.con * math.log1p(-probability) + self.offset
        return 1 / (1 + math.exp(-odds))

    def adjust(self, analysis: "Analysis") -> "Analysis":
        """An analysis that says so of its constituents."""
        if self == Curve():
            return analysis
        others = (replace(other, constituents=self._all(other.constituents)) for other in analysis.alternatives)
        return replace(analysis, constituents=self._all(analysis.constituents), alternatives=tuple(others))

    def _all(self, constituents: "tuple[Constituent, ...]") -> "tuple[Constituent, ...]":
        return tuple(replace(given, probability=self(given.probability)) for given in constituents)
