import pickle
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from treecrf.trees.notation import BracketError
from treecrf.trees.search import Forest, compiled, forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import TreebankError
from trees.search.random_trees import random_trees

needs_c = pytest.mark.skipif(not compiled.matcher, reason="treecrf was installed without its C code")


@needs_c
@pytest.mark.parametrize("seed", range(10))
def test_compiled_code_flattens_trees_as_the_definition_does(seed):
    trees = random_trees(Random(seed)) if seed else []
    assert forest.flatten(trees) == forest.flatten_in_python(trees)


@settings(max_examples=40)
@given(st.lists(strategies.trees(), max_size=4), st.sampled_from([" ", "\n", "", "\t\r\n\f "]))
def test_forests_of_text_are_those_of_its_trees(trees, space):
    text = space.join(map(str, trees))
    forest = Forest.parse(text)
    assert [forest.subtree(start) for start in forest.starts[:-1].tolist()] == trees
    assert len(set(forest.labels)) == len(forest.labels)


@needs_c
@pytest.mark.parametrize("seed", range(10))
def test_compiled_code_reads_brackets_as_the_definition_does(seed):
    trees = random_trees(Random(seed)) if seed else []
    assert forest.parse_columns("\n".join(map(str, trees))) == forest.flatten_in_python(trees)


@pytest.mark.parametrize(
    "text",
    ["(S", "(S)", "S", "(S (A a)))", "(S (A a b))", "(S a (B b))", "(S (B b) a)", "()", "(A)", "(S (A a)) x", "("],
)
def test_text_that_is_not_brackets_is_an_error(text):
    with pytest.raises(BracketError):
        Forest.parse(text)


def test_forests_are_read_in_batches(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text("( (S (A a)) )\n\n(S\n  (B b))\n(S (C c)) (S (D d))\n")
    batches = list(forest.read_forests(path, batch_trees=2))
    assert [len(batch) for batch in batches] == [2, 2]
    assert [str(batch.subtree(0)) for batch in batches] == ["( (S (A a)))", "(S (C c))"]
    path.write_text("(S (A a))\n(S (A a)\n(S (B b))\n")
    with pytest.raises(TreebankError, match=r"trees.mrg:2"):
        list(forest.read_forests(path))


@settings(max_examples=50)
@given(strategies.trees())
def test_every_subtree_comes_back_from_its_position(tree):
    flat = Forest(tree)
    subtrees = [flat.subtree(position) for position in range(len(flat.ends))]
    assert [subtree for subtree in subtrees if isinstance(subtree, Tree)] == list(tree.walk())
    assert [subtree for subtree in subtrees if isinstance(subtree, str)] == tree.words


def test_a_forest_contains_only_trees():
    with pytest.raises((TypeError, AttributeError)):
        Forest([Tree.parse("(S (NN a))"), 5])  # type: ignore[list-item]


def test_nodes_have_their_tree_and_their_words():
    flat = Forest([Tree.parse("(S (A a) (B (C c) (D d)))"), Tree.parse("(X x)")])
    assert [flat.tree_of(node) for node in range(len(flat.ends))] == [0] * 8 + [1] * 2 and len(flat) == 2
    spans = {str(flat.subtree(node)): flat.words(node) for node in range(len(flat.ends))}
    assert spans["(S (A a) (B (C c) (D d)))"] == (0, 3) and spans["(B (C c) (D d))"] == (1, 3)
    assert spans["(A a)"] == spans["a"] == (0, 1) and spans["d"] == (2, 3) and spans["(X x)"] == spans["x"] == (0, 1)


def test_labels_have_numbers_and_basic_categories():
    flat = Forest(Tree.parse("(S (NP-SBJ (NP a)) (NP-OBJ (X b)))"))
    assert [flat.labels[flat.label_index[label]] for label in flat.labels] == flat.labels
    basic = dict(zip(flat.labels, flat.basic_ids.tolist(), strict=True))
    assert basic["NP-SBJ"] == basic["NP-OBJ"] == basic["NP"] != basic["S"]
    assert len(set(basic.values())) == 5


def test_a_copy_of_a_forest_has_the_same_columns():
    flat = Forest(Tree.parse("(S (A a) (B b))"))
    copied = pickle.loads(pickle.dumps(flat))
    assert copied.columns == flat.columns and copied.heads.tolist() == flat.heads.tolist() == [1, 2, -1, 4, -1]
    assert copied.subtree(0) == flat.subtree(0)


def test_empty_elements_are_no_words():
    tree = Tree.parse("(S (NP-SBJ (-NONE- *)) (VP (VB Go) (ADVP (RB home)) (NP (-NONE- *U*))))")
    (match,) = tree.search("ADVP")
    assert tree.words[slice(*match.span)] == ["home"]
    (match,) = tree.search("@NP > S")
    assert match.span == (0, 0)
    assert tree.heads() == [0, -1, -1, 0, 0, 1, 1, -1, -1]
