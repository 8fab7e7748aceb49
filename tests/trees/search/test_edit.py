import pytest
from hypothesis import given

import strategies
from treecrf.trees.search.edit import EditNode, to_edit_nodes, to_tree
from treecrf.trees.search.errors import SurgeryError
from treecrf.trees.tree import Tree


@given(strategies.trees())
def test_a_tree_comes_back_from_its_mutable_copy(tree):
    assert to_tree(to_edit_nodes(tree)[0]) == tree


def find(nodes, label):
    return next(node for node in nodes if node.label == label)


def test_nodes_know_their_place():
    nodes = to_edit_nodes(Tree.parse("(S (A a) (B b) (C c))"))
    root, second = nodes[0], find(nodes, "B")
    assert [node.label for node in nodes] == ["S", "A", "a", "B", "b", "C", "c"]
    assert [find(nodes, label).index() for label in "ABC"] == [0, 1, 2]
    assert second.siblings() is root.children and root.siblings() == [root] and root.index() == 0
    assert [node.label for node in find(nodes, "b").ancestors()] == ["b", "B", "S"]


def test_a_removed_node_has_no_parent():
    nodes = to_edit_nodes(Tree.parse("(S (A a) (B b) (C c))"))
    root, second = nodes[0], find(nodes, "B")
    assert second.remove() is root and second.parent is None
    assert str(to_tree(root)) == "(S (A a) (C c))"
    assert root.remove() is None
    root.insert(1, second)
    assert second.parent is root and str(to_tree(root)) == "(S (A a) (B b) (C c))"


def test_a_copy_is_equal_and_independent():
    root = to_edit_nodes(Tree.parse("(S (A a) (B b))"))[0]
    copy, copies = root.copy_with_map()
    assert copy is copies[id(root)] and len(copies) == 5 and copy is not root
    assert copies[id(root.children[1])] is copy.children[1] and copy.children[1].parent is copy
    copy.children[0].remove()
    assert (str(to_tree(copy)), str(to_tree(root))) == ("(S (B b))", "(S (A a) (B b))")


@pytest.mark.parametrize(
    ("root", "message"),
    [
        (EditNode("S", []), "'S' has no children left"),
        (EditNode("a", [], is_word=True), "the word 'a' alone"),
        (EditNode("S", [EditNode("a", [], is_word=True), EditNode("b", [], is_word=True)]), "the word 'a' has sisters"),
    ],
)
def test_nodes_that_are_no_tree_are_an_error(root, message):
    with pytest.raises(SurgeryError, match=message):
        to_tree(root)
