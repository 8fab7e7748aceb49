"""Benchmark of searching trees with the 13 patterns of L2SCA against PyTregex; the counts are compared.

    pip install pytregex
    python benchmarks/search.py [TREEBANK.mrg[.gz]] [--repeats 5] [--root TOP]

The trees are read once, and all patterns are compiled and searched in one process on one core. Times are CPU
milliseconds: our medians, and one run of PyTregex, which takes seconds.
"""

import argparse
import gc
import gzip
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treecrf.trees.search import Forest, Pattern
from treecrf.trees.search.forest import flatten, parse_columns
from treecrf.trees.tree import parse_trees

SMALL = Path(__file__).parents[1] / "tests" / "samples" / "fifty.mrg"
_FINITE = "MD|VBP|VBZ|VBD"
_CLAUSE = f"S|SINV|SQ [> ROOT <, (VP <# VB) | <# {_FINITE} | < (VP [<# {_FINITE} | < CC < (VP <# {_FINITE})])]"
_T_UNIT = "[> ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]]"
# the structures of Lu (2010), "Automatic analysis of syntactic complexity in second language writing"
L2SCA = {
    "sentences": "ROOT !> __",
    "verb phrases": "VP > S|SINV|SQ",
    "verb phrases, questions": f"{_FINITE} > (SQ !< VP)",
    "clauses": _CLAUSE,
    "fragment clauses": f"FRAG > ROOT !<< ({_CLAUSE})",
    "T-units": f"S|SBARQ|SINV|SQ {_T_UNIT}",
    "fragment T-units": f"FRAG > ROOT !<< (S|SBARQ|SINV|SQ {_T_UNIT})",
    "complex nominals 1": "NP !> NP [<< JJ|POS|PP|S|VBG | << (NP $++ NP !$+ CC)]",
    "complex nominals 2": "SBAR [<# WHNP | <# (IN < That|that|For|for) | <, S] & [$+ VP | > VP]",
    "complex nominals 3": "S < (VP <# VBG|TO) $+ VP",
    "dependent clauses": f"SBAR < ({_CLAUSE})",
    "complex T-units": f"S|SBARQ|SINV|SQ {_T_UNIT} << (SBAR < ({_CLAUSE}))",
    "coordinate phrases": "ADJP|ADVP|NP|VP < CC",
}


def cpu_milliseconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """The CPU time of a call, and its result."""
    gc.collect()
    start = time.process_time()
    result = function()
    return 1000 * (time.process_time() - start), result


def median_milliseconds(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    runs = [cpu_milliseconds(function) for _ in range(repeats)]
    return statistics.median(run[0] for run in runs), runs[0][1]


def search_with_pytregex(trees: Any, patterns: dict[str, str]) -> dict[str, int | str]:
    from pytregex.tregex import TregexPattern

    counts: dict[str, int | str] = {}
    for name, pattern in patterns.items():
        try:
            # between relations PyTregex writes "||"
            counts[name] = len(TregexPattern(pattern.replace(" | ", " || ")).findall(trees))
        except (Exception, SystemExit) as error:
            counts[name] = f"failed: {error}"
    return counts


def print_speeds(name: str, trees: int, our_time: float, their_time: float) -> None:
    ours, theirs = (1000 * trees / milliseconds for milliseconds in (our_time, their_time))
    print(f"| trees per second, {name} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank", nargs="?", type=Path, default=SMALL)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--root", default="TOP", help="label of the roots (default: %(default)s)")
    args = parser.parse_args()
    patterns = {name: pattern.replace("ROOT", args.root) for name, pattern in L2SCA.items()}

    from pytregex.tree import Tree as PyTregexTree

    opener: Any = gzip.open if args.treebank.suffix == ".gz" else open
    with opener(args.treebank, "rt", encoding="utf-8") as file:
        text = file.read()
    our_reading, forest = median_milliseconds(lambda: Forest.parse(text), args.repeats)
    their_reading, trees = cpu_milliseconds(lambda: tuple(PyTregexTree.fromstring(text)))

    def search() -> dict[str, int]:
        new_forest = Forest.from_columns(columns, forest.head_rules)  # without the tables of the run before
        return {name: Pattern(pattern).count(new_forest).matches for name, pattern in patterns.items()}

    columns = parse_columns(text) or flatten(list(parse_trees(text)))
    our_time, our_counts = median_milliseconds(search, args.repeats)
    their_time, their_counts = cpu_milliseconds(lambda: search_with_pytregex(trees, patterns))
    print(f"{args.treebank}: {len(trees)} trees, {len(patterns)} patterns\n")
    print("| | treecrf | PyTregex | ratio |\n|---|---|---|---|")
    print(f"| reading brackets, ms | {our_reading:.0f} | {their_reading:.0f} | {their_reading / our_reading:.1f} |")
    print(f"| 13 patterns, ms | {our_time:.1f} | {their_time:.0f} | {their_time / our_time:.0f} |")
    print_speeds("patterns", len(trees), our_time, their_time)
    print_speeds("reading and patterns", len(trees), our_reading + our_time, their_reading + their_time)
    print()
    for name, count in our_counts.items():
        note = "" if their_counts[name] == count else f"    PyTregex: {their_counts[name]}"
        print(f"{count:8} {name}{note}")


if __name__ == "__main__":
    main()
