"""Search in trees with Tregex's patterns, and changes of trees with Tsurgeon's operations."""

from treecrf.search.errors import PatternError
from treecrf.search.forest import Forest
from treecrf.search.heads import CHINESE, COLLINS, HeadRules, head_positions
from treecrf.search.pattern import Counts, Match, Pattern

__all__ = [
    "CHINESE",
    "COLLINS",
    "Counts",
    "Forest",
    "HeadRules",
    "Match",
    "Pattern",
    "PatternError",
    "head_positions",
]
