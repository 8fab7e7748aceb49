from hypothesis import given

import strategies
from treecrf.trees.search.edit import to_edit_nodes, to_tree


@given(strategies.trees())
def test_a_tree_comes_back_from_its_mutable_copy(tree):
    assert to_tree(to_edit_nodes(tree)[0]) == tree
