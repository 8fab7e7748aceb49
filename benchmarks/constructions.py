"""F of models on each construction of recipes/models/constructions, over all sentences.

    python benchmarks/constructions.py [--model en en-large ...] [--part dev]

The gold trees were written by us; with `train`, they are trees that later models are trained on.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from treecrf.parser import Parser
from treecrf.trees.evalb import COLLINS, evaluate
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

FOLDER = Path(__file__).parent.parent / "recipes" / "models" / "constructions"
RULES = replace(COLLINS, max_error=None)


def read_constructions(part: str) -> Iterator[tuple[str, list[Tree]]]:
    """The name and the trees of each construction."""
    trees = iter(read_trees(FOLDER / f"{part}.mrg"))
    with (FOLDER / "constructions.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            yield row["construction"], list(islice(trees, int(row[part])))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", nargs="+", default=["en"], metavar="M", help="installed models or folders")
    arguments.add_argument("--part", choices=["train", "dev"], default="dev")
    arguments.add_argument("--no-mbr", action="store_true", help="the trees with the best scores")
    args = arguments.parse_args()
    constructions = dict(read_constructions(args.part))
    groups = {**constructions, "all": [tree for trees in constructions.values() for tree in trees]}
    columns: list[list[str]] = []
    for name in args.model:
        parser = Parser.load(name, "cpu")
        parsed = parser.parse_many([tree.words for tree in groups["all"]], mbr=not args.no_mbr)
        tree_of = {tuple(tree.words): tree for tree in parsed}
        predictions = ([tree_of[tuple(tree.words)] for tree in gold] for gold in groups.values())
        pairs = zip(groups.values(), predictions, strict=True)
        columns.append([f"{evaluate(gold, trees, rules=RULES).f1:.1f}" for gold, trees in pairs])
    print(f"| construction | trees | {' | '.join(args.model)} |")
    print("|---|---|" + "---|" * len(args.model))
    for row, (name, trees) in enumerate(groups.items()):
        print(f"| {name} | {len(trees)} | {' | '.join(column[row] for column in columns)} |")


if __name__ == "__main__":
    main()
