"""Benchmark of reading and writing brackets against NLTK; the results are compared.

    python benchmarks/trees.py [TREEBANK.mrg[.gz]] [--repeats 7]

Times are medians of CPU milliseconds for the whole file. NLTK's `str` breaks lines; writing a tree on one line is
measured too.
"""

import gc
from collections import deque
from pathlib import Path

import nltk

from common import command_line, cpu_milliseconds, read_text
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.samples import FOLDER


def read_ours(path: Path) -> int:
    return sum(1 for _ in read_trees(path))


def read_with_nltk(path: Path) -> int:
    return sum(1 for line in read_text(path).split("\n")[:-1] if nltk.Tree.fromstring(line))


def write_on_one_line(tree: nltk.Tree) -> str:
    return tree.pformat(margin=10**9)


def check(ours: list[Tree], theirs: list[nltk.Tree]) -> None:
    """Checks that both read and write the same trees."""
    for tree, other in zip(ours, theirs, strict=True):
        if tree.to_nltk() != other or str(tree) != write_on_one_line(other):
            raise SystemExit(f"NLTK reads a different tree: {other}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument(
        "treebank", nargs="?", type=Path, default=FOLDER / "fifty.mrg", help="a file with one tree per line"
    )
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    lines = read_text(args.treebank).split("\n")[:-1]
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
        ours_and_theirs = ((our_function, our_items), (their_function, their_items))
        our_time, their_time = (
            cpu_milliseconds(lambda task=task: deque(map(*task), maxlen=0), args.repeats)[0] for task in ours_and_theirs
        )
        print(f"{name:18} {our_time:6.1f} ms {their_time:6.1f} ms {their_time / our_time:5.1f}x")


if __name__ == "__main__":
    main()
