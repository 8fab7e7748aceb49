"""Benchmark of reading and writing brackets against NLTK; the results are compared.

    python benchmarks/trees.py [TREEBANK.mrg[.gz]] [--repeats 7]

Times are medians of CPU milliseconds for the whole file. NLTK's `str` breaks lines; writing a tree on one line is
measured too.
"""

import argparse
import gc
import gzip
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

import nltk

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.samples import FOLDER

SMALL = FOLDER / "fifty.mrg"


def milliseconds(function: Callable[[Any], Any], items: Iterable[Any], repeats: int) -> float:
    """The median time of calling a function on every item."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        for item in items:
            function(item)
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times)


def open_text(path: Path) -> TextIO:
    opener: Any = gzip.open if path.suffix == ".gz" else open
    return opener(path, "rt", encoding="utf-8", newline="\n")


def read_ours(path: Path) -> int:
    return sum(1 for _ in read_trees(path))


def read_with_nltk(path: Path) -> int:
    with open_text(path) as file:
        return sum(1 for line in file if nltk.Tree.fromstring(line))


def write_on_one_line(tree: nltk.Tree) -> str:
    return tree.pformat(margin=10**9)


def check(ours: list[Tree], theirs: list[nltk.Tree]) -> None:
    """Checks that both read and write the same trees."""
    for tree, other in zip(ours, theirs, strict=True):
        if tree.to_nltk() != other or str(tree) != write_on_one_line(other):
            raise SystemExit(f"NLTK reads a different tree: {other}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares the speed of reading and writing brackets with NLTK.")
    parser.add_argument("treebank", nargs="?", type=Path, default=SMALL, help="a file with one tree per line")
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    with open_text(args.treebank) as file:
        lines = file.read().split("\n")[:-1]
    ours = list(read_trees(args.treebank))
    theirs = [nltk.Tree.fromstring(line) for line in lines]
    check(ours, theirs)
    gc.freeze()  # objects that live for the whole run are excluded from garbage collection
    rows = {
        "read": (Tree.parse, lines, nltk.Tree.fromstring, lines),
        "read the file": (read_ours, [args.treebank], read_with_nltk, [args.treebank]),
        "write": (str, ours, str, theirs),
        "write on one line": (str, ours, write_on_one_line, theirs),
    }
    print(f"{args.treebank}: {len(ours):,} trees, {sum(len(tree.words) for tree in ours):,} words\n")
    print(f"{'':18} {'treecrf':>9} {'nltk':>9} {'ratio':>6}")
    for name, (our_function, our_items, their_function, their_items) in rows.items():
        our_time = milliseconds(our_function, our_items, args.repeats)
        their_time = milliseconds(their_function, their_items, args.repeats)
        print(f"{name:18} {our_time:6.1f} ms {their_time:6.1f} ms {their_time / our_time:5.1f}x")


if __name__ == "__main__":
    main()
