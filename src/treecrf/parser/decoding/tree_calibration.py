"""Calibration of whole trees: the probability that a tree is entirely correct.

The probability of a tree under the model is too low or too high, because the errors in one sentence depend on each
other. Beta calibration corrects it, with one more weight for the length of the sentence. The length is the same for all
trees of a sentence, so calibration keeps their order.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from treecrf.trees.analysis import Analysis

_CERTAIN = -1e-6  # log-probabilities above this come from constraints and are not changed


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
        if self == TreeCalibration() or log_prob > _CERTAIN or log_prob == -math.inf:
            return math.exp(log_prob)
        log_odds = self.a * log_prob - self.b * log_complement(log_prob) + self.c + self.d * math.log(words)
        return 1 / (1 + math.exp(-log_odds)) if log_odds > 0 else math.exp(log_odds) / (1 + math.exp(log_odds))

    def apply(self, analysis: "Analysis") -> "Analysis":
        """The analysis with calibrated probabilities of its tree and of the alternatives."""
        words = len(analysis.tree.words)
        alternatives = tuple(
            replace(alternative, calibrated=self(alternative.log_prob, words)) for alternative in analysis.alternatives
        )
        return replace(analysis, calibrated=self(analysis.log_prob, words), alternatives=alternatives)


def log_complement(log_prob: float) -> float:
    """The logarithm of 1 - p, for the logarithm of p below 0."""
    return math.log(-math.expm1(log_prob))
