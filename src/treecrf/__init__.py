"""A fast and accurate neural CRF constituency parser.

Names that need PyTorch are imported on first use, so that reading and scoring trees starts at once.
"""

import gc
from importlib import import_module
from typing import TYPE_CHECKING

from treecrf.tree import BracketError, Span, Tree

if TYPE_CHECKING:
    from treecrf.analysis import Analysis
    from treecrf.chart.crf import SpanCRF
    from treecrf.cnf import from_spans, to_spans
    from treecrf.constraints import Constraints
    from treecrf.evalb import Rules, evaluate
    from treecrf.parser import Parser
    from treecrf.treebank import TreebankError, read_trees, write_trees

__all__ = [
    "Analysis",
    "BracketError",
    "Constraints",
    "Parser",
    "Rules",
    "Span",
    "SpanCRF",
    "Tree",
    "TreebankError",
    "evaluate",
    "from_spans",
    "read_trees",
    "to_spans",
    "write_trees",
]

__version__ = "0.1.0"

_HOMES = {
    "Analysis": "treecrf.analysis",
    "Constraints": "treecrf.constraints",
    "Parser": "treecrf.parser",
    "Rules": "treecrf.evalb",
    "SpanCRF": "treecrf.chart.crf",
    "TreebankError": "treecrf.treebank",
    "evaluate": "treecrf.evalb",
    "from_spans": "treecrf.cnf",
    "read_trees": "treecrf.treebank",
    "to_spans": "treecrf.cnf",
    "write_trees": "treecrf.treebank",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'treecrf' has no attribute {name!r}")
    collecting = gc.isenabled()
    gc.disable()  # PyTorch makes many objects as it is imported, and hardly any garbage
    try:
        return getattr(import_module(_HOMES[name]), name)
    finally:
        if collecting:
            gc.enable()
