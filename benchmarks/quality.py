"""Quality of trees beyond F1: well-formedness, and constituents that the trees of some sentences must have.

    python benchmarks/quality.py TREEBANK.mrg[.gz] ... [--model en] [--no-mbr] [--limit 400] [--train TRAIN.mrg.gz ...]
    python benchmarks/quality.py --model en --constituents ../shared/quality/constituents.tsv

For each treebank, prints the share of trees with a violation (`treecrf.trees.treebank.well_formed`) and the share of
productions that no tree of the training files has: for the gold trees, and with `--model` for the trees of a model and
their F1. A file of constituents has a sentence a line: words, a tab, and `LABEL=words` separated by semicolons.
"""

import argparse
from dataclasses import replace
from itertools import islice
from pathlib import Path

from treecrf.parser import Parser
from treecrf.trees.evalb import COLLINS, evaluate
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.productions import Production, productions
from treecrf.trees.treebank.well_formed import VIOLATION_NAMES, measure_well_formedness

Requirement = tuple[list[str], list[tuple[str, str]]]  # words, and the label and words of each constituent


def read_requirements(path: Path) -> list[Requirement]:
    """Reads a file of constituents; lines that start with # are comments."""
    requirements = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            words, constituents = line.split("\t")
            pairs = [constituent.split("=", 1) for constituent in constituents.split(";")]
            requirements.append((words.split(), [(label, text) for label, text in pairs]))
    return requirements


def missing_constituents(tree: Tree, constituents: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The required constituents that a tree does not have."""
    words = tree.words
    spans = {(label, " ".join(words[start:end])) for start, end, label in tree.spans()}
    return [constituent for constituent in constituents if constituent not in spans]


def print_constituents(path: Path, parser: Parser, *, mbr: bool) -> None:
    requirements = read_requirements(path)
    trees = parser.parse_many([words for words, _ in requirements], mbr=mbr)
    total = missing_count = 0
    for (words, constituents), tree in zip(requirements, trees, strict=True):
        missing = missing_constituents(tree, constituents)
        total += len(constituents)
        missing_count += len(missing)
        for label, text in missing:
            print(f"missing in {' '.join(words)!r:.60}: {label} over {text!r}")
    print(f"{total - missing_count} of {total} constituents")


def print_treebank(
    path: Path, parser: Parser | None, known: set[Production] | None, *, mbr: bool, limit: int | None
) -> None:
    gold = list(islice(read_trees(path), limit))
    name = f"{path.parent.name}/{path.name.split('.')[0]}"
    print_row(f"{name}, gold", gold, known, "")
    if parser:
        trees = list(parser.parse_many([tree.words for tree in gold], mbr=mbr))
        score = evaluate(gold, trees, rules=replace(COLLINS, max_error=None))
        print_row(f"{name}, model", trees, known, f"{score.f1:.2f}")


def print_row(name: str, trees: list[Tree], known: set[Production] | None, f1: str) -> None:
    counts = measure_well_formedness(trees, known)
    by_name = " | ".join(str(counts.by_name[violation]) for violation in VIOLATION_NAMES)
    unseen = f"{100 * counts.unseen_share:.2f} %" if known is not None else ""
    print(
        f"| {name} | {counts.trees} | {f1} | {100 * counts.ill_formed_share:.1f} % | {by_name} | {unseen} |", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebanks", nargs="*", type=Path, metavar="TREEBANK")
    parser.add_argument("--model", metavar="M", help="an installed model or a folder")
    parser.add_argument("--no-mbr", action="store_true", help="the trees with the best scores")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N trees of each treebank")
    parser.add_argument(
        "--train", nargs="*", default=(), type=Path, metavar="TRAIN", help="trees with known productions"
    )
    parser.add_argument("--constituents", type=Path, metavar="FILE")
    args = parser.parse_args()
    if args.constituents and not args.model:
        parser.error("--constituents needs a model; add --model M")
    model = Parser.load(args.model, "cpu") if args.model else None
    if args.constituents:
        print_constituents(args.constituents, model, mbr=not args.no_mbr)
    known = {rule for path in args.train for tree in read_trees(path) for rule in productions(tree)} or None
    if args.treebanks:
        print(f"| | trees | F1 | ill-formed | {' | '.join(VIOLATION_NAMES)} | unseen productions |")
        print("|---|---|---|---|" + "---|" * (len(VIOLATION_NAMES) + 1))
    for path in args.treebanks:
        print_treebank(path, model, known, mbr=not args.no_mbr, limit=args.limit)


if __name__ == "__main__":
    main()
