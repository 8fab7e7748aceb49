"""Constructions that parsers confuse: how many a model misses, and whether its decoder or its scores miss them.

    python benchmarks/confusions.py TREEBANK.mrg[.gz] ... [--model en]

A construction is a gold constituent. It is missed by the decoder if the tree with the best score has it and the default
tree does not, and by the model if neither has it.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from treecrf.parser import Parser
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank import read_trees

Ancestors = tuple[Tree, ...]  # the ancestors of a constituent, root first
Test = Callable[[Tree, Ancestors], bool]


def labels(node: Tree) -> list[str]:
    return [child.label for child in node.child_trees]


def first_word(node: Tree) -> str:
    return node.words[0].lower()


def is_coordination_in_relative_clause(node: Tree, ancestors: Ancestors) -> bool:
    is_coordination = node.label == "VP" and "CC" in labels(node) and labels(node).count("VP") > 1
    clauses = [ancestor for ancestor in ancestors[-2:] if ancestor.label == "SBAR"]
    return is_coordination and any(labels(clause)[0] in ("WHNP", "WHPP") for clause in clauses)


def is_between_phrase(node: Tree, ancestors: Ancestors) -> bool:
    return node.label == "PP" and first_word(node) == "between"


def is_inverted_quotation(node: Tree, ancestors: Ancestors) -> bool:
    return node.label == "SINV" and any(word in ("said", "says", "asked", "added") for word in node.words)


def is_small_clause(node: Tree, ancestors: Ancestors) -> bool:
    parent = ancestors[-1] if ancestors else node
    if node.label != "S" or parent.label not in ("VP", "PP") or first_word(node) == "to":
        return False
    head = first_word(parent)
    return head in ("let", "lets", "make", "makes", "made", "making", "with", "without") and parent is not node


def is_fragment(node: Tree, ancestors: Ancestors) -> bool:
    return len(ancestors) == 1 and node.label in ("NP", "FRAG")


def is_imperative(node: Tree, ancestors: Ancestors) -> bool:
    children = [child for child in node.child_trees if child.label not in (",", "``", "''", ":", "INTJ", "ADVP")]
    is_vp_first = bool(children) and children[0].label == "VP" and labels(children[0])[:1] == ["VB"]
    return len(ancestors) == 1 and node.label == "S" and is_vp_first


def is_comparative(node: Tree, ancestors: Ancestors) -> bool:
    return node.label in ("SBAR", "PP") and first_word(node) == "than"


def is_relative_clause(node: Tree, ancestors: Ancestors) -> bool:
    is_clause = node.label == "SBAR" and labels(node)[0] in ("WHNP", "WHPP", "WHADVP")
    return is_clause and bool(ancestors) and ancestors[-1].label == "NP"


def is_noun_modified_by_pp(node: Tree, ancestors: Ancestors) -> bool:
    return node.label == "NP" and labels(node) == ["NP", "PP"]


CONSTRUCTIONS: dict[str, Test] = {
    "VP coordination in a relative clause": is_coordination_in_relative_clause,
    "PP with `between`": is_between_phrase,
    "SINV of an inverted quotation": is_inverted_quotation,
    "small clause after let, make, with": is_small_clause,
    "phrase with `than`": is_comparative,
    "title or fragment (root NP, FRAG)": is_fragment,
    "imperative (root S)": is_imperative,
    "relative clause (SBAR in NP)": is_relative_clause,
    "noun modified by a PP (NP -> NP PP)": is_noun_modified_by_pp,
}


def constituents(tree: Tree) -> Iterator[tuple[Tree, Ancestors, Span]]:
    """The constituents with their ancestors and spans, parents before children."""
    spans = iter(tree.spans())
    stack: list[tuple[Tree, Ancestors]] = [(tree, ())]
    while stack:
        node, ancestors = stack.pop()
        if not node.is_leaf:
            yield node, ancestors, next(spans)
            stack.extend((child, (*ancestors, node)) for child in reversed(node.child_trees))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("treebanks", nargs="+", type=Path, metavar="TREEBANK")
    arguments.add_argument("--model", default="en", metavar="M")
    args = arguments.parse_args()
    parser = Parser.load(args.model, "cpu")
    gold = [tree for path in args.treebanks for tree in read_trees(path)]
    words = [tree.words for tree in gold]
    defaults, best_trees = list(parser.parse_many(words)), list(parser.parse_many(words, mbr=False))
    totals: Counter[str] = Counter()
    outcomes: Counter[tuple[str, bool, bool]] = Counter()
    for tree, default, best in zip(gold, defaults, best_trees, strict=True):
        default_spans, best_spans = set(default.spans()), set(best.spans())
        for node, ancestors, span in constituents(tree):
            for name in (name for name, test in CONSTRUCTIONS.items() if test(node, ancestors)):
                totals[name] += 1
                outcomes[name, span in default_spans, span in best_spans] += 1
    print("| construction | gold | missed by default | by the decoder | by the model | missed only by the best tree |")
    print("|---|---|---|---|---|---|")
    for name in CONSTRUCTIONS:
        decoder, model, best_only = (outcomes[(name, *key)] for key in ((False, True), (False, False), (True, False)))
        print(f"| {name} | {totals[name]} | {decoder + model} | {decoder} | {model} | {best_only} |")


if __name__ == "__main__":
    main()
