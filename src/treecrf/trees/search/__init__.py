"""Search in trees with Tregex's patterns, and changes of trees with Tsurgeon's operations."""

from treecrf.trees.search.forest import Forest, head_positions, read_forests
from treecrf.trees.search.heads import CHINESE, COLLINS, HeadRules
from treecrf.trees.search.pattern import Match, MatchCounts, Pattern, time_limit
from treecrf.trees.search.phrases import Clause, clauses, noun_phrases, t_units
from treecrf.trees.search.surgery import Surgery, apply_surgeries, read_surgeries
from treecrf.trees.search.tokens import PatternError, SurgeryError

__all__ = [
    "CHINESE",
    "COLLINS",
    "Clause",
    "Forest",
    "HeadRules",
    "Match",
    "MatchCounts",
    "Pattern",
    "PatternError",
    "Surgery",
    "SurgeryError",
    "apply_surgeries",
    "clauses",
    "head_positions",
    "noun_phrases",
    "read_forests",
    "read_surgeries",
    "t_units",
    "time_limit",
]
