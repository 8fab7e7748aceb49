"""Search in trees with Tregex's patterns, and changes of trees with Tsurgeon's operations."""

from treecrf.search.errors import PatternError, SurgeryError
from treecrf.search.forest import Forest, read_forests
from treecrf.search.heads import CHINESE, COLLINS, HeadRules, head_positions
from treecrf.search.pattern import Counts, Match, Pattern
from treecrf.search.surgery import Surgery, apply_surgeries, read_surgeries
from treecrf.search.time_limit import time_limit

__all__ = [
    "CHINESE",
    "COLLINS",
    "Counts",
    "Forest",
    "HeadRules",
    "Match",
    "Pattern",
    "PatternError",
    "Surgery",
    "SurgeryError",
    "apply_surgeries",
    "head_positions",
    "read_forests",
    "read_surgeries",
    "time_limit",
]
