import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import deep_tree, trees, wide_tree
from treecrf.trees.drawing.layout import bottom_up_levels, center_nodes, find_antecedents, list_nodes
from treecrf.trees.tree import Tree

GAP = 2.0


def levels_of(nodes, kind):
    return bottom_up_levels(nodes) if kind == "below" else [node.depth for node in nodes]


@given(trees())
def test_nodes_are_the_labels_tags_and_words_of_the_tree(tree):
    nodes = list_nodes(tree)
    assert [node.text for node in nodes if node.kind == "word"] == tree.words
    assert [node.text for node in nodes if node.kind == "tag"] == tree.tags
    labels = [node for node in nodes if node.kind == "label"]
    assert [(node.text, node.span) for node in labels] == [(span.label, i) for i, span in enumerate(tree.spans())]
    assert all(nodes[node.parent].depth == node.depth - 1 and node.parent < i for i, node in enumerate(nodes) if i)


@pytest.mark.parametrize("kind", ["above", "below"])
@given(trees(), st.data())
def test_adjacent_nodes_of_a_level_keep_their_order_and_the_gap(kind, tree, data):
    nodes = list_nodes(tree)
    extents = data.draw(st.lists(st.floats(0, 100), min_size=len(nodes), max_size=len(nodes)))
    levels = levels_of(nodes, kind)
    middles = center_nodes(nodes, extents, GAP, levels)
    ends: dict[int, float] = {}
    for middle, extent, level in zip(middles, extents, levels, strict=True):
        assert middle - extent / 2 >= ends.get(level, -GAP) + GAP - 1e-6
        ends[level] = middle + extent / 2
    assert min(middle - extent / 2 for middle, extent in zip(middles, extents, strict=True)) == pytest.approx(0)


@given(trees())
def test_parents_are_centered_over_their_children(tree):
    nodes = list_nodes(tree)
    middles = center_nodes(nodes, [10.0] * len(nodes), GAP, [node.depth for node in nodes])
    for number in range(len(nodes)):
        below = [middles[i] for i, node in enumerate(nodes) if node.parent == number]
        assert not below or middles[number] == pytest.approx((below[0] + below[-1]) / 2)


def test_a_small_child_between_large_ones_is_centered():
    large = "(X (A a) (B b) (C c) (D d))"
    nodes = list_nodes(Tree.parse(f"(S {large} (Y y) {large})"))
    middles = center_nodes(nodes, [10.0] * len(nodes), GAP, [node.depth for node in nodes])
    first, small, last = (middles[i] for i, node in enumerate(nodes) if node.parent == 0)
    assert small - first == pytest.approx(last - small)


def test_the_space_above_a_word_is_free():
    nodes = list_nodes(Tree.parse("(S (A a) (LONGER (NP (N n))))"))
    levels = bottom_up_levels(nodes)
    extents = [100.0 if node.text == "LONGER" else 10.0 for node in nodes]
    middles = dict(zip((node.text for node in nodes), center_nodes(nodes, extents, GAP, levels), strict=True))
    assert middles["A"] <= middles["LONGER"] - 50 - GAP


@pytest.mark.parametrize("kind", ["above", "below"])
@pytest.mark.parametrize("tree", [deep_tree(5000), wide_tree(1000)], ids=["deep", "wide"])
def test_large_trees_are_laid_out(tree, kind):
    nodes = list_nodes(tree)
    middles = center_nodes(nodes, [1.0] * len(nodes), GAP, levels_of(nodes, kind))
    assert len(middles) == len(nodes) and min(middles) == pytest.approx(0.5)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_children_are_as_close_as_the_gap_allows(count):
    nodes = list_nodes(Tree("S", tuple(Tree("A", ("a",)) for _ in range(count))))
    middles = center_nodes(nodes, [10.0] * len(nodes), GAP, [node.depth for node in nodes])
    children = [middles[i] for i, node in enumerate(nodes) if node.parent == 0]
    assert children == pytest.approx([5.0 + 12.0 * number for number in range(count)])


TRACE = Tree.parse("(S (NP-SBJ-1 (NNS trees)) (VP (VBP are) (VP (VBN cut) (NP (-NONE- *-1)) (ADVP (-NONE- *T*-7)))))")


def test_an_empty_element_has_an_antecedent_with_its_index():
    nodes = list_nodes(TRACE)
    assert [(nodes[trace].text, nodes[first].text) for trace, first in find_antecedents(nodes).items()] == [
        ("*-1", "NP-SBJ-1")
    ]
    assert find_antecedents(list_nodes(TRACE.plain())) == {}


def test_constituents_with_words_are_numbered_like_spans():
    nodes = list_nodes(TRACE)
    numbered = sorted((node.span, node.text) for node in nodes if node.span >= 0)
    assert [text for _, text in numbered] == [span.label for span in TRACE.spans()]
    assert [node.text for node in nodes if node.kind == "label" and node.span < 0] == ["NP", "ADVP"]
