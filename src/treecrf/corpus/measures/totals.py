"""The counts of each tree that the measures of a text are computed from, and the measures.

A text's measure is a total over its sentences, or the ratio of two totals. So the measures of any set of sentences
follow from the counts of each sentence.
"""

import numpy as np

from treecrf.arrays import Doubles, Ints
from treecrf.corpus.measures.structures import INDICES, PATTERNS, count_structures
from treecrf.corpus.measures.word_scores import WordScores
from treecrf.trees.search import Forest

_WINDOW = 3  # words of Frazier's local count
STRUCTURES = ("W", "S", *PATTERNS)
# counts of a tree; the sums and maxima are over its words
COUNTS = (*STRUCTURES, "nodes", "depth sum", "yngve sum", "yngve maximum", "frazier sum", "frazier maximum", "deepest")
TREE_MEASURES: dict[str, tuple[str, str | None]] = {
    "nodes": ("nodes", None),
    "nodes/W": ("nodes", "W"),
    "depth": ("depth sum", "W"),
    "depth_max": ("deepest", "S"),
    "yngve": ("yngve sum", "W"),
    "yngve_max": ("yngve maximum", "S"),
    "frazier": ("frazier sum", "W"),
    "frazier_max": ("frazier maximum", "S"),
}
# the total of each measure, and the total that divides it
MEASURES: dict[str, tuple[str, str | None]] = {
    **{name: (name, None) for name in STRUCTURES},
    **INDICES,
    **TREE_MEASURES,
}
_LANGUAGES_OF_STRUCTURES = ("en",)


def measures_of_language(language: str) -> tuple[str, ...]:
    """The measures that are defined for a language: L2SCA's patterns are for English."""
    if language in _LANGUAGES_OF_STRUCTURES:
        return tuple(MEASURES)
    return ("W", "S", "MLS", *TREE_MEASURES)


def count_trees(forest: Forest) -> Doubles:
    """The counts of each tree, (trees, counts) in the order of `COUNTS`."""
    scores = WordScores(forest)
    trees = len(forest)
    constituents = np.searchsorted(forest.starts, np.flatnonzero(scores.is_constituent), side="right") - 1
    columns = {
        "W": np.bincount(scores.trees, minlength=trees),
        "S": np.ones(trees),
        **count_structures(forest),
        "nodes": np.bincount(constituents, minlength=trees),
        "depth sum": np.bincount(scores.trees, scores.depths, minlength=trees),
        "deepest": _maximum_by_tree(scores.depths, scores),
        "yngve sum": np.bincount(scores.trees, scores.yngve, minlength=trees),
        "yngve maximum": _maximum_by_tree(scores.yngve, scores),
        "frazier sum": np.bincount(scores.trees, scores.frazier, minlength=trees),
        "frazier maximum": _maximum_by_tree(_sum_windows(scores), scores),
    }
    return np.stack([columns[name] for name in COUNTS], axis=1).astype(np.float64)


def compute_measures(totals: Doubles) -> Doubles:
    """The measures in the order of `MEASURES`, for totals in the order of `COUNTS` along the last axis.

    A ratio to 0 is 0, as in L2SCA.
    """
    return np.stack([_ratio(totals, *names) for names in MEASURES.values()], axis=-1)


def _ratio(totals: Doubles, numerator: str, denominator: str | None) -> Doubles:
    values: Doubles = totals[..., COUNTS.index(numerator)]
    if denominator is None:
        return values
    divisors = totals[..., COUNTS.index(denominator)]
    return np.divide(values, divisors, out=np.zeros_like(values), where=divisors != 0)


def _maximum_by_tree(values: Doubles | Ints, scores: WordScores) -> Doubles:
    maxima = np.zeros(len(scores.forest))
    np.maximum.at(maxima, scores.trees, values)
    return maxima


def _sum_windows(scores: WordScores) -> Doubles:
    """The sum of the Frazier scores of each word and the next two words of its tree."""
    sums: Doubles = scores.frazier.copy()
    for shift in range(1, _WINDOW):
        is_same_tree = scores.trees[shift:] == scores.trees[:-shift]
        sums[:-shift] += np.where(is_same_tree, scores.frazier[shift:], 0.0)
    return sums
