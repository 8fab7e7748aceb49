"""Compares decoders of one model by F1, well-formedness and speed.

    python benchmarks/decoders.py TREEBANK.mrg[.gz] ... [--model en] [--limit 400] [--best-of 20]

Decoders: the tree with the highest score, the paper's MBR, expected F1, the tree of highest expected utility among the
k most probable trees, and expected F1 with the grammar of the training trees. A tree is ill-formed if it has a
violation of `treecrf.trees.treebank.well_formed`. F1 is over all sentences.
Times are from one run on one CPU or GPU.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from treecrf.parser import Parser
from treecrf.trees.analysis import Alternative
from treecrf.trees.evalb import COLLINS, evaluate
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.well_formed import measure_well_formedness

Words = Sequence[Sequence[str]]


def best_of_k(parser: Parser, sentences: Words, k: int) -> Iterator[Tree]:
    """The tree of highest expected utility among the k most probable trees of each sentence."""

    def utility(alternative: Alternative) -> float:
        return sum(constituent.probability - parser.f1_threshold for constituent in alternative.constituents)

    for analysis in parser.analyze_many(sentences, k=k):
        yield max(analysis.alternatives, key=utility).tree


def parse_with_each(parser: Parser, sentences: Words, k: int) -> Iterator[tuple[str, Iterator[Tree]]]:
    """The name of each decoder and its trees."""
    threshold, weight = parser.f1_threshold, parser.grammar_weight
    yield "the tree with the highest score", parser.parse_many(sentences, mbr=False)
    parser.f1_threshold = 0.0
    yield "the paper's MBR", parser.parse_many(sentences)
    parser.f1_threshold = threshold
    parser.grammar_weight = 0.0
    yield f"expected F1, threshold {threshold}", parser.parse_many(sentences)
    yield f"expected F1 among the {k} most probable trees", best_of_k(parser, sentences, k)
    parser.grammar_weight = weight
    yield f"expected F1 with the grammar, weight {weight}", parser.parse_many(sentences)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("treebanks", nargs="+", type=Path, metavar="TREEBANK")
    options.add_argument("--model", default="en")
    options.add_argument("--device")
    options.add_argument("--limit", type=int, metavar="N", help="only the first N trees of each treebank")
    options.add_argument("--best-of", type=int, default=20, metavar="K")
    args = options.parse_args()
    parser = Parser.load(args.model, args.device)
    print(parser)
    print("| | decoder | F1 | ill-formed trees | unseen productions | sentences/s |\n|---|---|---|---|---|---|")
    for path in args.treebanks:
        gold = list(islice(read_trees(path), args.limit))
        name = f"{path.parent.name}/{path.name.split('.')[0]}"
        print_row(name, "gold trees", gold, gold, parser, "")
        sentences = [tree.words for tree in gold]
        list(parser.parse_many(sentences[:50]))  # the first call is slower
        for decoder, trees in parse_with_each(parser, sentences, args.best_of):
            start = time.perf_counter()
            predicted = list(trees)
            speed = f"{len(gold) / (time.perf_counter() - start):,.0f}"
            print_row(name, decoder, gold, predicted, parser, speed)


def print_row(name: str, decoder: str, gold: list[Tree], trees: list[Tree], parser: Parser, speed: str) -> None:
    score = evaluate(gold, trees, rules=replace(COLLINS, max_error=None), use_gold_tags=True)
    counts = measure_well_formedness(trees, parser.productions)
    shares = f"{100 * counts.ill_formed_share:.1f} % | {100 * counts.unseen_share:.2f} %"
    print(f"| {name} | {decoder} | {score.f1:.2f} | {shares} | {speed} |", flush=True)


if __name__ == "__main__":
    main()
