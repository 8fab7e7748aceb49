"""Benchmark of scoring against PYEVALB, on the same pairs of trees.

    python benchmarks/evalb.py [TREES] [--pairs 10000] [--repeats 3]

TREES has one tree per line and may be gzipped. The predictions are the same trees with constituents renamed, dissolved
and added; the words are the same, because PYEVALB stops at a different word. Times are the best of several runs, in
seconds from lines of brackets to counts; `treecrf evaluate` is the whole command, from files to the printed report.
"""

import contextlib
import io
import itertools
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common import ROOT, command_line
from treecrf import Rules, Tree
from treecrf.parser.benchmark import time_call
from treecrf.trees.evalb import evaluate_lines
from treecrf.trees.treebank import read_trees

DEFAULT = ROOT.parent / "shared" / "treebanks" / "craft" / "train.mrg.gz"
LABELS = ["NP", "VP", "PP", "S", "SBAR", "ADJP", "ADVP"]


def corrupt(tree: Tree, generator: random.Random, rate: float = 0.05) -> Tree:
    """The tree with some constituents renamed, dissolved or added."""
    if tree.is_leaf:
        return tree
    children: list[Tree] = []
    for child in (corrupt(child, generator, rate) for child in tree.child_trees):
        children += child.child_trees if not child.is_leaf and generator.random() < rate else (child,)
    if len(children) > 2 and generator.random() < rate:
        start = generator.randrange(len(children) - 1)
        children[start : start + 2] = [Tree(generator.choice(LABELS), tuple(children[start : start + 2]))]
    return Tree(generator.choice(LABELS) if generator.random() < rate else tree.label, tuple(children))


def read_pairs(path: Path, count: int) -> tuple[list[str], list[str]]:
    trees = list(itertools.islice(read_trees(path), count))
    generator = random.Random(0)
    trees = list(itertools.islice(itertools.cycle(trees), count))
    return [str(tree) for tree in trees], [str(corrupt(tree, generator)) for tree in trees]


def run_pyevalb(gold: list[str], predicted: list[str]) -> None:
    from PYEVALB.scorer import Scorer

    with contextlib.redirect_stdout(io.StringIO()):
        Scorer().score_corpus(gold, predicted)


def run_command(gold: list[str], predicted: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("gold", "predicted")]
        for path, lines in zip(paths, (gold, predicted), strict=True):
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        arguments = [sys.executable, "-m", "treecrf", "evaluate", *map(str, paths)]
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)


def best_time(task: Callable[[], object], repeats: int) -> float:
    return min(time_call(task) for _ in range(repeats))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("trees", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    gold, predicted = read_pairs(args.trees, args.pairs)
    tasks: dict[str, Callable[[], object]] = {
        "evaluate_lines": lambda: evaluate_lines(gold, predicted, rules=Rules.named("collins")),
        "treecrf evaluate": lambda: run_command(gold, predicted),
        "PYEVALB": lambda: run_pyevalb(gold, predicted),
    }
    times = {name: best_time(task, args.repeats) for name, task in tasks.items()}
    print(f"{args.pairs} pairs from {args.trees.name}, F {evaluate_lines(gold, predicted).f1:.2f}\n")
    print("scorer              seconds   pairs/s   PYEVALB takes")
    for name, seconds in times.items():
        print(f"{name:<18} {seconds:8.2f} {args.pairs / seconds:9.0f} {times['PYEVALB'] / seconds:14.1f}x")


if __name__ == "__main__":
    main()
