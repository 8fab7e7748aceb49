"""The counts of each tree, and the measures of a text, which are computed from their totals.

L2SCA counts nine syntactic structures, and computes fourteen indices from them (Lu 2010). The patterns are from
"Automatic analysis of syntactic complexity in second language writing". A node that matches in several ways counts
once. They are for English trees in the style of the Penn Treebank.

A text's measure is a total over its sentences, or the ratio of two totals. So the measures of any set of sentences
follow from the counts of each sentence.
"""

from functools import cache

import numpy as np

from treecrf.arrays import Doubles, Ints
from treecrf.corpus.measures.word_scores import WordScores
from treecrf.trees.search import Forest, Pattern

_FINITE = "MD|VBD|VBP|VBZ"
_SENTENCE = "S|SBARQ|SINV|SQ"
_FINITE_CLAUSE = f"S|SINV|SQ [> _ROOT_ <, (VP <# VB) | <# {_FINITE} | < (VP [<# {_FINITE} | < CC < (VP <# {_FINITE})])]"
_T_UNIT = f"{_SENTENCE} [> _ROOT_ | [$-- {_SENTENCE} !>> SBAR|VP]]"
_DEPENDENT_CLAUSE = f"SBAR < ({_FINITE_CLAUSE})"

# each structure is the sum of its patterns; words (W) and sentences (S) are counted without a pattern
PATTERNS: dict[str, tuple[str, ...]] = {
    "VP": ("VP > S|SINV|SQ", f"{_FINITE} > (SQ !< VP)"),
    "C": (_FINITE_CLAUSE, f"FRAG > _ROOT_ !<< ({_FINITE_CLAUSE})"),
    "T": (_T_UNIT, f"FRAG > _ROOT_ !<< ({_T_UNIT})"),
    "DC": (_DEPENDENT_CLAUSE,),
    "CT": (f"{_T_UNIT} << ({_DEPENDENT_CLAUSE})",),
    "CP": ("ADJP|ADVP|NP|VP < CC",),
    "CN": (
        "NP !> NP [<< JJ|POS|PP|S|VBG | << (NP $++ NP !$+ CC)]",
        "SBAR [<# WHNP | <# (IN < That|that|For|for) | <, S] & [$+ VP | > VP]",
        "S < (VP <# VBG|TO) $+ VP",
    ),
}
_RATIOS = ("C/S", "VP/T", "C/T", "DC/C", "DC/T", "T/S", "CT/T", "CP/T", "CP/C", "CN/T", "CN/C")
# each index is the ratio of two structures; the first three are mean lengths in words
INDICES: dict[str, tuple[str, str]] = {"MLS": ("W", "S"), "MLT": ("W", "T"), "MLC": ("W", "C")}
INDICES |= {ratio: (ratio.partition("/")[0], ratio.partition("/")[2]) for ratio in _RATIOS}
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


def count_structures(forest: Forest) -> dict[str, Doubles]:
    """The structures of each tree, except words and sentences."""
    return {
        name: np.sum([pattern.count_by_tree(forest, nodes=True) for pattern in patterns], axis=0, dtype=np.float64)
        for name, patterns in _compiled_patterns().items()
    }


@cache
def _compiled_patterns() -> dict[str, list[Pattern]]:
    return {name: [Pattern(text) for text in texts] for name, texts in PATTERNS.items()}


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
