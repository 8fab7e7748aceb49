"""Scores of words against their definitions, by recursion over trees."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import FIFTY, random_parser
from treecrf.corpus.measures import measure_words
from treecrf.corpus.measures.structures import MEASURES, compute_measures, count_trees
from treecrf.corpus.measures.word_scores import WordScores, is_word_tag
from treecrf.trees.search import Forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

COLORLESS = "(TOP (S (NP (NNP Colorless) (JJ green) (NNS ideas)) (VP (VBP sleep) (ADVP (RB furiously)))))"
LABELS = ("S", "NP", "SBAR", "VP")
TREES = list(read_trees(FIFTY))
leaves = st.builds(lambda tag: Tree(tag, ("w",)), st.sampled_from(("NN", "PRP$", ".", ",")))
nodes = st.recursive(
    leaves,
    lambda children: st.builds(
        lambda label, subtrees: Tree(label, tuple(subtrees)),
        st.sampled_from(LABELS),
        st.lists(children, min_size=1, max_size=3),
    ),
    max_leaves=12,
)
trees = st.builds(lambda node: Tree("TOP", (node,)), nodes)


def without_punctuation(tree: Tree) -> Tree | None:
    if tree.is_leaf:
        return tree if is_word_tag(tree.label) else None
    children = [child for child in map(without_punctuation, tree.child_trees) if child is not None]
    return Tree(tree.label, tuple(children)) if children else None


def paths(tree: Tree, above: tuple[Tree, ...] = ()) -> list[tuple[Tree, ...]]:
    """For each word, the nodes from the root to its preterminal."""
    if tree.is_leaf:
        return [(*above, tree)]
    return [path for child in tree.child_trees for path in paths(child, (*above, tree))]


def height(node: Tree) -> int:
    return 0 if node.is_leaf else 1 + max(map(height, node.child_trees))


def starts_with(node: Tree, leaf: Tree) -> bool:
    return node.preterminals()[0] is leaf


def distinct_leaves(tree: Tree) -> Tree:
    """A copy whose nodes are all different objects."""
    return Tree(tree.label, tree.children if tree.is_leaf else tuple(map(distinct_leaves, tree.child_trees)))


@given(st.lists(trees, min_size=1, max_size=3))
def test_scores_equal_their_definitions(forest_trees):
    scores = WordScores(Forest(forest_trees))
    rows = []
    for tree in forest_trees:
        bare = without_punctuation(tree)
        word_paths = paths(distinct_leaves(bare)) if bare is not None else []
        for number, path in enumerate(word_paths):
            leaf, constituents = path[-1], path[1:-1]
            right_sisters = [
                len(parent.child_trees) - 1 - [child is node for child in parent.child_trees].index(True)
                for parent, node in pairwise(path)
            ]
            opened = [node for node in constituents if starts_with(node, leaf)]
            closed = [node for node in constituents if node.preterminals()[-1] is leaf]
            distance = 0
            if number + 1 < len(word_paths):
                common = [node for node in path[:-1] if any(node is other for other in word_paths[number + 1])]
                distance = height(common[-1])
            frazier = sum(1.5 if node.label in ("S", "SBAR") else 1.0 for node in opened)
            rows.append((len(constituents), sum(right_sisters), frazier, len(opened), len(closed), distance))
    expected = list(zip(*rows, strict=True)) or [()] * 6
    columns = (scores.depths, scores.yngve, scores.frazier, scores.opened, scores.closed, scores.distances)
    assert [tuple(column.tolist()) for column in columns] == expected


def test_a_published_example_has_its_published_scores():
    """Yngve and Frazier scores of Roark et al. (2007) as computed by public programs: 1.4 and 0.9."""
    totals = count_trees(Forest.parse(COLORLESS)).sum(axis=0)
    measures = dict(zip(MEASURES, compute_measures(totals).tolist(), strict=True))
    assert (measures["yngve"], measures["frazier"]) == pytest.approx((1.4, 0.9))
    assert (measures["depth_max"], measures["yngve_max"], measures["frazier_max"]) == (3, 3, 2.5)
    assert (measures["nodes"], measures["nodes/W"]) == (4, 0.8)


def test_given_tokens_are_words_whatever_their_tags_are():
    forest = Forest.parse("(S (NN a) (. b) (NN c))")
    assert WordScores(forest).yngve.tolist() == [1, 0]
    assert WordScores(forest, np.array([True, True, False])).yngve.tolist() == [1, 0]
    assert WordScores(forest, np.array([True, True, True])).yngve.tolist() == [2, 1, 0]


@pytest.fixture(scope="module")
def parser():
    return random_parser(TREES, tag_head=True)


def test_intervals_of_words_contain_their_values(parser):
    sentences = [tree.words for tree in TREES[:8]]
    is_uncertain = False
    for words, samples in zip(sentences, parser.sample_many(sentences, 40), strict=True):
        rows = measure_words(samples)
        tags = Tree.parse(samples.best).tags
        assert [row.word for row in rows] == [word for word, tag in zip(words, tags, strict=True) if tag[0].isalpha()]
        intervals = [(row.values[name], *interval) for row in rows for name, interval in row.intervals.items()]
        assert all(low <= value <= high for value, low, high in intervals)
        is_uncertain |= any(low < high for _, low, high in intervals)
    assert is_uncertain


def test_words_of_given_trees_have_no_intervals():
    (row,) = measure_words(Tree.parse("(NP (NN x) (. .))"))
    assert (row.number, row.word, row.tag, row.intervals) == (1, "x", "NN", {})
    assert measure_words(Tree.parse("(S (-NONE- *))")) == []
