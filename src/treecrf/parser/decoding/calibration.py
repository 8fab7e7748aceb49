"""Calibration of the probabilities of constituents and of whole trees.

A temperature cannot correct probabilities where the trees of a treebank disagree with each other. Beta calibration
(Kull, Silva Filho and Flach, 2017) has one weight for log p and another for log (1 - p). The errors in one sentence
depend on each other, so whole trees have one more weight, for the length of the sentence. The length is the same for
all trees of a sentence, so calibration keeps their order.
"""

import math
from typing import NamedTuple

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


class TreeCalibration(NamedTuple):
    """Maps the probability p of a tree of n words to the one with log-odds a * log p - b * log (1 - p) + c + d * log n.

    >>> calibration = TreeCalibration(a=0.5, b=0.5, c=1.0, d=-0.5)
    >>> round(TreeCalibration()(math.log(0.7), 9), 3), round(calibration(math.log(0.7), 9), 3), calibration(0.0, 9)
    (0.7, 0.581, 1.0)
    """

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0
    d: float = 0.0

    def __call__(self, log_prob: float, words: int) -> float:
        if self == TreeCalibration() or log_prob > -_CERTAIN or log_prob == -math.inf:
            return math.exp(log_prob)
        log_odds = self.a * log_prob - self.b * math.log(-math.expm1(log_prob)) + self.c + self.d * math.log(words)
        return 1 / (1 + math.exp(-log_odds)) if log_odds > 0 else math.exp(log_odds) / (1 + math.exp(log_odds))
