import pytest
from hypothesis import given

from strategies import deep_tree, trees, wide_tree
from treecrf.trees.drawing import text
from treecrf.trees.drawing.text_metrics import escape_invisible, terminal_columns
from treecrf.trees.tree import Tree

TREE = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (NP (NN 树木))) (. .)))")


def test_a_tree_is_drawn_from_top_to_bottom():
    assert text(TREE).splitlines() == [
        "          TOP",
        "           │",
        "           S",
        "   ┌───────┴─┬─────┐",
        "  NP        VP     .",
        " ┌─┴─┐     ┌─┴─┐   .",
        "DT  NN    VBD NP",
        "the cat   sat  │",
        "              NN",
        "             树木",
    ]


@given(trees())
def test_words_are_separate_in_order_and_fit(tree):
    drawing = text(tree, width=10_000)
    assert all(line == line.rstrip(" ") for line in drawing.split("\n"))
    assert all(escape_invisible(word).strip() in drawing for word in tree.words)


@pytest.mark.parametrize("width", [10, 15, 19, 20, 21, 80])
def test_a_tree_that_is_too_wide_is_indented(width):
    drawing = text(TREE, width=width)
    widest = max(map(terminal_columns, text(TREE).split("\n")))
    assert (drawing == TREE.pretty()) == (width < widest)
    assert width < widest or max(map(terminal_columns, drawing.split("\n"))) <= width


def test_probabilities_follow_labels():
    numbers = [1.0, 0.9999, 0.5, 0.25, 0.125]
    for width in (10, 100):
        drawing = text(TREE, numbers, width=width)
        assert "NP 50 %" in drawing and "VP 25 %" in drawing and "NP 13 %" in drawing and "S 1" not in drawing


@pytest.mark.parametrize("tree", [deep_tree(2000), wide_tree(1000)], ids=["deep", "wide"])
def test_large_trees_are_drawn(tree):
    assert len(text(tree).split("\n")) > 1000


def test_constituents_without_words_have_no_probability():
    tree = Tree.parse("(S (NP (-NONE- *)) (VP (VB Go)))")
    assert text(tree, [0.25, 0.5], width=300).count("%") == 2
    assert text(tree, [0.25, 0.5], width=3).split("\n")[0] == "S 25 %"
