from treecrf.trees.placed_nodes import place_nodes
from treecrf.trees.tree import Tree

TREE = Tree.parse("(S (NP-SBJ (-NONE- *)) (VP (VB Go) (ADVP (RB home)) (NP (-NONE- *))))")


def test_nodes_come_in_the_order_of_walk():
    assert [node.tree for node in place_nodes(TREE)] == list(TREE.walk())


def test_positions_are_those_of_the_words():
    positions = {node.tree.label: (node.start, node.end) for node in place_nodes(TREE) if not node.tree.is_leaf}
    assert positions == {"S": (0, 2), "NP-SBJ": (0, 0), "VP": (0, 2), "ADVP": (1, 2), "NP": (2, 2)}


def test_equal_leaves_have_their_own_parents():
    empties = [node for node in place_nodes(TREE) if node.tree.is_empty]
    assert [[ancestor.tree.label for ancestor in node.ancestors()] for node in empties] == [
        ["NP-SBJ", "S"],
        ["NP", "VP", "S"],
    ]
