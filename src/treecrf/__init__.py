"""A fast and accurate neural CRF constituency parser.

Most names are imported on first use, so that reading and scoring trees starts at once.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any


class TreecrfError(Exception):
    """The base of treecrf's own errors. Each of them is a ValueError or an OSError too."""


def import_extra(module: str, need: str, extra: str) -> Any:
    """Imports a module of an extra, such as `treecrf[draw]`; the error says what needs it, and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{need}: pip install 'treecrf[{extra}]'") from error


from treecrf.trees.notation import BracketError  # noqa: E402  # trees use the names above
from treecrf.trees.tree import Span, Tree  # noqa: E402

if TYPE_CHECKING:
    from treecrf.chart.crf import SpanCRF
    from treecrf.chart.tree_crf import TreeCRF
    from treecrf.parser import Parser
    from treecrf.parser.decoding.constraints import Constraints
    from treecrf.threads import num_threads, set_num_threads
    from treecrf.training.adaptation.adapt import adapt
    from treecrf.trees.analysis import Analysis
    from treecrf.trees.evalb import Rules, evaluate
    from treecrf.trees.treebank import TreebankError, read_trees, write_trees
    from treecrf.trees.treebank.binarize import from_spans, to_spans

__all__ = [
    "Analysis",
    "BracketError",
    "Constraints",
    "Parser",
    "Rules",
    "Span",
    "SpanCRF",
    "Tree",
    "TreeCRF",
    "TreebankError",
    "TreecrfError",
    "adapt",
    "evaluate",
    "from_spans",
    "num_threads",
    "read_trees",
    "set_num_threads",
    "to_spans",
    "write_trees",
]

__version__ = "0.3.0"

_MODULES = {
    "Analysis": "treecrf.trees.analysis",
    "Constraints": "treecrf.parser.decoding.constraints",
    "Parser": "treecrf.parser",
    "Rules": "treecrf.trees.evalb",
    "SpanCRF": "treecrf.chart.crf",
    "TreeCRF": "treecrf.chart.tree_crf",
    "TreebankError": "treecrf.trees.treebank",
    "adapt": "treecrf.training.adaptation.adapt",
    "evaluate": "treecrf.trees.evalb",
    "from_spans": "treecrf.trees.treebank.binarize",
    "num_threads": "treecrf.threads",
    "read_trees": "treecrf.trees.treebank",
    "set_num_threads": "treecrf.threads",
    "to_spans": "treecrf.trees.treebank.binarize",
    "write_trees": "treecrf.trees.treebank",
}
if find_spec("torch") is None:  # then `from treecrf import *` leaves these names out
    for _name in ("SpanCRF", "TreeCRF", "adapt"):
        __all__.remove(_name)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        from treecrf.trees.other_libraries import explained

        raise AttributeError(explained("treecrf", f"module 'treecrf' has no attribute {name!r}", name))
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"treecrf.{name} needs PyTorch: pip install 'treecrf[torch]'") from error
