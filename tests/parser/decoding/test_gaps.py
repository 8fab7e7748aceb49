"""Gaps and their features, against a definition on tree nodes."""

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treecrf.parser.decoding.constituent_features import Symbols
from treecrf.parser.decoding.constituents import DecodedBatch, FullTrees
from treecrf.parser.decoding.gaps import SYMBOLS, context_codes, find_gaps
from treecrf.trees.placed_nodes import PlacedNode, place_nodes
from treecrf.trees.search.heads import COLLINS
from treecrf.trees.tree import Tree

CATEGORIES, TAGS = ["NP", "S", "SBAR", "VP", "WHNP"], ["NN", "VB", "IN"]
LEAVES = st.builds(Tree, st.sampled_from(TAGS), st.just(("w",)))
NODES = st.recursive(
    LEAVES, lambda nodes: st.builds(Tree, st.sampled_from(CATEGORIES), st.lists(nodes, min_size=1, max_size=4))
)
TREES = st.lists(st.builds(Tree, st.just("TOP"), st.lists(NODES, min_size=1, max_size=3)), min_size=1, max_size=4)


def batch_of(trees: list[Tree]) -> DecodedBatch:
    words, tags = ([item for tree in trees for item in getattr(tree, name)] for name in ("words", "tags"))
    constituents = FullTrees.of(trees, CATEGORIES).constituents
    vectors = np.zeros((len(words), 0))
    return DecodedBatch(constituents=constituents, words=words, tags=tags, vectors=vectors, rules=COLLINS)


Row = tuple[tuple[str, ...], tuple[int, ...], tuple[int | None, ...]]


def naive_gaps(tree: Tree) -> Iterator[Row]:
    """The labels, counts and words of each gap; a label is "" and a word None if there is none."""
    nodes = place_nodes(tree)
    heads = {id(node): head for node, head in zip(nodes, tree.heads(), strict=True)}

    def up(node: PlacedNode | None) -> PlacedNode | None:
        return node.parent if node else None

    def sister(node: PlacedNode | None, step: int) -> PlacedNode | None:
        if node is None or node.parent is None:
            return None
        number = node.parent.children.index(node) + step
        return node.parent.children[number] if 0 <= number < len(node.parent.children) else None

    def label(node: PlacedNode | None) -> str:
        return node.tree.label if node else ""

    def count(children: list[PlacedNode], category: str) -> int:
        return min(3, sum(child.tree.label == category for child in children))

    for node in (node for node in nodes if node.children):
        chain = [node, *node.ancestors()]
        clause = next((above for above in chain if above.tree.label == "SBAR"), None)
        depth = sum(above.tree.label == "S" for above in chain[: chain.index(clause) if clause else None])
        parent, grandparent = up(node), up(up(node))
        filler = clause.children[0] if clause else None
        for place in range(len(node.children) + 1):
            left = node.children[place - 1] if place else None
            right = node.children[place] if place < len(node.children) else None
            around = [node, left, right, parent, grandparent, up(grandparent), sister(left, -1), sister(right, 1)]
            around += [sister(node, -1), sister(node, 1), sister(parent, -1), node.children[0], node.children[-1]]
            around += [parent.children[0] if parent else None, filler, up(clause)]
            before, after = node.children[:place], node.children[place:]
            counts = (min(3, depth), count(before, "NP"), count(after, "NP"), count(after, "VP"))
            position = right.start if right else node.end
            beside = (position - 1 if position else None, position if position < len(tree.words) else None)
            head_words = [
                heads[id(other)] if other else None for other in (node, parent, grandparent, left, right, filler)
            ]
            yield tuple(map(label, around)), counts, (*beside, *head_words)


@given(TREES)
def test_gaps_have_the_features_of_their_definition(trees: list[Tree]) -> None:
    batch = batch_of(trees)
    symbols = Symbols(CATEGORIES, TAGS)
    gaps = find_gaps(batch, symbols)
    names = [*CATEGORIES, "TOP", *TAGS]
    labels = {number: name for number, name in enumerate(names)} | {symbols.none: ""}
    total, rows, first = len(batch.words), [], 0
    for tree in trees:
        for row in naive_gaps(tree):
            rows.append((row[0], row[1], tuple(total if word is None else word + first for word in row[2])))
        first += len(tree.words)
    columns = len(SYMBOLS) - 4
    found = [
        (tuple(labels[number] for number in row[:columns]), tuple(row[columns:]), tuple(words))
        for row, words in zip(gaps.features.symbols.tolist(), gaps.features.words.tolist(), strict=True)
    ]
    shifts = [symbols.size + 4 * number for number in range(4)]
    assert found == [(row, tuple(map(sum, zip(counts, shifts, strict=True))), words) for row, counts, words in rows]


@given(TREES, st.integers(0, 1000))
def test_contexts_select_gaps_by_the_constituent_and_its_children_beside_them(trees: list[Tree], seed: int) -> None:
    batch, symbols = batch_of(trees), Symbols(CATEGORIES, TAGS)
    every = find_gaps(batch, symbols)
    codes = context_codes(every.features.symbols, symbols.size)
    distinct = np.unique(codes)
    contexts = distinct[np.random.default_rng(seed).random(len(distinct)) < 0.5]
    some = find_gaps(batch, symbols, np.append(contexts, symbols.size**3))
    kept = np.isin(codes, contexts)
    np.testing.assert_array_equal(some.constituents, every.constituents[kept])
    np.testing.assert_array_equal(some.positions, every.positions[kept])
    np.testing.assert_array_equal(some.features.symbols, every.features.symbols[kept])
    np.testing.assert_array_equal(some.features.words, every.features.words[kept])
