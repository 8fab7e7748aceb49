"""The compiled parts of treecrf, and a warning if some are missing."""

import warnings
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

import treecrf
from treecrf.chart import cpu_backend
from treecrf.network.runtime import int8
from treecrf.parser.decoding import label_grammar
from treecrf.trees.treebank import bracket_writer

_SEARCH = Path(treecrf.__file__).parent / "trees" / "search"  # not imported: parsing does not need it


def missing_parts() -> list[str]:
    """The packages whose compiled part is missing, because treecrf was installed without a C compiler."""
    is_present = {
        "chart": cpu_backend.available,
        "decoding": label_grammar.available,
        "runtime": int8.is_compiled,
        "search": PathFinder.find_spec("_matcher", [str(_SEARCH)]) is not None,
        "treebank": bracket_writer.available,
    }
    return [name for name in is_present if not is_present[name]]


@cache
def warn_about_missing_parts() -> None:
    """Warns once in a process if compiled parts are missing."""
    if parts := missing_parts():
        warnings.warn(
            f"parsing is slow: treecrf was installed without its compiled parts ({', '.join(parts)}); install a C "
            "compiler, then treecrf again",
            RuntimeWarning,
            stacklevel=4,
        )
