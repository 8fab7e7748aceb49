"""Constituents as arrays against trees, and full trees against their brackets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import random_parser
from strategies import trees
from toygrammar import toy_trees
from treecrf.parser.decoding.constituents import (
    Constituents,
    DecodedBatch,
    Empty,
    FullTrees,
    LabelChains,
    _cached_leaf_text,
    full_lines,
)
from treecrf.trees.placed_nodes import place_nodes
from treecrf.trees.search.heads import COLLINS
from treecrf.trees.tree import Tree

LABELS = st.sampled_from(["S", "NP-SBJ", "NP-SBJ-1", "VP", "PP-LOC=2", "SBAR", "NP", "CONJP", "UCP"])
TAGS = st.sampled_from(["NN", "CC", ",", "VB", "IN"])
EMPTIES = st.builds(lambda kind: Tree("-NONE-", (kind,)), st.sampled_from(["*", "*T*-1", "0"]))
LEAVES = st.builds(lambda tag, word: Tree(tag, (word,)), TAGS, st.sampled_from(["a", "(", "b c", "\u2028"]))
FULL_TREES = st.recursive(
    LEAVES | LEAVES | EMPTIES, lambda nodes: st.builds(Tree, LABELS, st.lists(nodes, min_size=1, max_size=4))
)
TREES = st.lists(
    st.builds(Tree, st.just("TOP"), st.lists(FULL_TREES, min_size=1, max_size=3)).filter(lambda tree: tree.words),
    min_size=1,
    max_size=4,
)
CATEGORIES = ["NP", "PP", "S", "VP"]


def batch_of(constituents: Constituents, trees: list[Tree]) -> DecodedBatch:
    words, tags = ([item for tree in trees for item in getattr(tree, name)] for name in ("words", "tags"))
    vectors = np.zeros((len(words), 0))
    return DecodedBatch(constituents=constituents, words=words, tags=tags, vectors=vectors, rules=COLLINS)


@given(TREES)
def test_full_trees_are_written_from_their_parts(trees: list[Tree]) -> None:
    constituents, labels, empties = FullTrees.of(trees, CATEGORIES)
    batch = batch_of(constituents, trees)
    assert list(full_lines(batch, labels, empties)) == [str(tree) for tree in trees]
    plain = [tree.plain(functions=True) for tree in trees]
    assert list(full_lines(batch, labels)) == [str(tree) for tree in plain]
    treebank_lines = list(full_lines(batch, labels, exact=False))
    assert [Tree.parse(line).tags for line in treebank_lines] == [tree.tags for tree in trees]
    assert not any("\\u{28}" in line for line in treebank_lines)


@given(TREES)
def test_parents_siblings_and_heads_equal_the_trees(trees: list[Tree]) -> None:
    plain = [tree.plain() for tree in trees]
    constituents, labels, _ = FullTrees.of(plain, ["CONJP", "NP", "PP", "S", "SBAR", "UCP", "VP"])
    heads = constituents.heads([tag for tree in plain for tag in tree.tags], COLLINS).tolist()
    number, words, count = 0, 0, len(constituents)
    for sentence, tree in enumerate(plain):
        nodes, places = place_nodes(tree), {}
        for node in nodes:
            places[node] = count + words + node.start if node.tree.is_leaf else number
            number += not node.tree.is_leaf
        for node, head in zip(nodes, tree.heads(), strict=True):
            place = places[node]
            assert constituents.parents[place] == (places[node.parent] if node.parent else -1)
            sisters = node.parent.children if node.parent else [node]
            index = sisters.index(node)
            before, after = (array[place] for array in constituents.siblings)
            assert before == (places[sisters[index - 1]] if index else -1)
            assert after == (places[sisters[index + 1]] if index + 1 < len(sisters) else -1)
            if place < count:
                assert labels[place] == node.tree.label == constituents.labels[place]
                assert constituents.sentences[place] == sentence and heads[place] == words + head
        words += len(tree.words)


@pytest.mark.parametrize("tag_head", [False, True])
def test_constituents_of_decoded_trees_equal_their_trees(tag_head: bool) -> None:
    gold = toy_trees(30, seed=3)
    parser = random_parser(gold, tag_head=tag_head)
    window = parser.reader.window([tree.words for tree in gold] + [["word"], ["tree"]])
    decoder = parser.batch_decoder(mbr=True, keeps_vectors=True)
    flat_trees = decoder(window)
    trees = list(parser._build_trees(window, flat_trees))
    lengths = np.array([len(words) for words in window.words])
    decoded = Constituents.of(flat_trees, lengths, LabelChains(parser.vocabulary.labels), parser.root)
    expected, labels, _ = FullTrees.of(trees, decoded.categories)
    for name in ("ids", "starts", "ends", "lengths"):
        np.testing.assert_array_equal(getattr(decoded, name), getattr(expected, name))
    assert list(full_lines(batch_of(decoded, trees), labels)) == [str(tree) for tree in trees]
    assert flat_trees.vectors is not None and len(flat_trees.vectors) == lengths.sum()


@given(trees())
def test_any_text_is_written_as_in_trees(tree: Tree) -> None:
    tree = Tree("TOP", (tree,))
    constituents, labels, _ = FullTrees.of([tree], [])
    assert list(full_lines(batch_of(constituents, [tree]), labels)) == [str(tree)]


def test_an_empty_element_inside_a_child_is_an_error() -> None:
    tree = Tree.parse("(TOP (NP (DT the) (NN cat)) (VB ran))")
    constituents, labels, _ = FullTrees.of([tree], ["NP"])
    with pytest.raises(ValueError, match="no child of 'TOP' begins at word 1"):
        list(full_lines(batch_of(constituents, [tree]), labels, [Empty(0, 1, "(-NONE- *)")]))


def test_long_words_are_not_kept_in_memory() -> None:
    tree = Tree("TOP", (Tree("S", (Tree("NN", ("x" * 100_000,)), Tree("VB", ("sleeps",)))),))
    constituents, labels, empties = FullTrees.of([tree], CATEGORIES)
    before = _cached_leaf_text.cache_info().currsize
    assert list(full_lines(batch_of(constituents, [tree]), labels, empties)) == [str(tree)]
    assert _cached_leaf_text.cache_info().currsize <= before + 1
