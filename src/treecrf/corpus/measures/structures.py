"""The nine syntactic structures of L2SCA and the fourteen indices that Lu (2010) computes from them.

The patterns are from "Automatic analysis of syntactic complexity in second language writing" (Lu 2010). A node that
matches in several ways counts once. They are for English trees in the style of the Penn Treebank.
"""

from functools import cache

import numpy as np

from treecrf.arrays import Doubles
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


def count_structures(forest: Forest) -> dict[str, Doubles]:
    """The structures of each tree, except words and sentences."""
    return {
        name: np.sum([pattern.count_by_tree(forest, nodes=True) for pattern in patterns], axis=0, dtype=np.float64)
        for name, patterns in _compiled_patterns().items()
    }


@cache
def _compiled_patterns() -> dict[str, list[Pattern]]:
    return {name: [Pattern(text) for text in texts] for name, texts in PATTERNS.items()}
