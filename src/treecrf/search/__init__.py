"""Search in trees with Tregex's patterns, and changes of trees with Tsurgeon's operations."""

from treecrf.search.errors import PatternError, SurgeryError
from treecrf.search.expected_count import ExpectedCount
from treecrf.search.forest import Forest, read_forests
from treecrf.search.heads import CHINESE, COLLINS, HeadRules, head_positions
from treecrf.search.pattern import Counts, Match, Pattern
from treecrf.search.phrases import Clause, clauses, noun_phrases, t_units
from treecrf.search.surgery import Surgery, apply_surgeries, read_surgeries
from treecrf.search.time_limit import time_limit

__all__ = [
    "CHINESE",
    "COLLINS",
    "Clause",
    "Counts",
    "ExpectedCount",
    "Forest",
    "HeadRules",
    "Match",
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
