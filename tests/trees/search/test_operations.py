import pytest
from hypothesis import given

import strategies
from treecrf.trees.search import Surgery, SurgeryError
from treecrf.trees.search.operations import EditNode, EditState, Growth, to_edit_nodes, to_tree
from treecrf.trees.tree import Tree


def operate(tree: str, pattern: str, *operations: str) -> str | None:
    changed = Surgery(pattern, operations).apply(Tree.parse(tree))
    return None if changed is None else str(changed)


@pytest.mark.parametrize(
    ("tree", "pattern", "operations", "changed"),
    [
        ("(S (A a) (B b))", "A=x", "relabel x C", "(S (C a) (B b))"),
        ("(S (A a) (B b))", "A=x", "relabel x |C D|", "(S (C\\u{20}D a) (B b))"),
        ("(S (A a) (B b))", "A=x", r"relabel x /C\/D/", "(S (C/D a) (B b))"),
        ("(S (VBD a) (B b))", "/^VB/=x", "relabel x /^VB(.*)$/V-$1/", "(S (V-D a) (B b))"),
        ("(S (foofoo a))", "/foo/=x", "relabel x /foo/b/", "(S (bb a))"),
        ("(S (A a) (B b))", "A=x $+ B=y", "relabel x /^.*$/={x}+={y}/", "(S (A+B a) (B b))"),
        ("(S (AQ a) (B b))", "/^A(.)/#1%v=x", r"relabel x /^.*$/<%{v}\=>/", "(S (<Q=> a) (B b))"),
        ("(S (A a) (B b))", "a=word", "relabel word c", "(S (A c) (B b))"),
        ("(S (A a) (B b))", "A=x", "delete x", "(S (B b))"),
        ("(S (A a) (B b) (C c))", "A=x $ B=y", "delete x y", "(S (C c))"),
        ("(S (A (B b)) (C c))", "B=x", "prune x", "(S (C c))"),
        ("(S (A (B b)))", "B=x", "prune x", None),
        ("(S (A a))", "S=x", "delete x", None),
        ("(S (A (B (C c) (D d)) (E e)) (F f))", "A=x < B=y", "excise x y", "(S (C c) (D d) (F f))"),
        ("(TOP (S (A a) (B b)))", "TOP=x", "excise x x", "(S (A a) (B b))"),
        ("(S (A a) (B b))", "A=x !$ N", "insert (N (M n)) $+ x", "(S (N (M n)) (A a) (B b))"),
        ("(S (A a) (B b))", "A=x !$ N", "insert (N n) $- x", "(S (A a) (N n) (B b))"),
        ("(S (A a) (B b))", "S=x !< N", "insert (N n) >2 x", "(S (A a) (N n) (B b))"),
        ("(S (A a) (B b))", "S=x !< N", "insert (N n) >-1 x", "(S (A a) (B b) (N n))"),
        ("(S (A a) (B b))", "S=x !< N", "insert (N n) >-2 x", "(S (A a) (N n) (B b))"),
        ("(S (A a) (B b))", "S=x < A=y !<3 __", "insert y >-1 x", "(S (A a) (B b) (A a))"),
        ("(S (A a) (B b))", "A=x $+ B=y", "move x $- y", "(S (B b) (A a))"),
        ("(S (A (B b)) (C (D d)))", "B=x > A : C=y", "moveprune x >1 y", "(S (C (B b) (D d)))"),
        ("(S (A a) (B b))", "A=x $+ (B=y < b)", "replace y x", "(S (A a) (A a))"),
        ("(S (A a) (B b))", "B=x", "replace x (C c) (D d)", "(S (A a) (C c) (D d))"),
        ("(S (A a))", "S=x", "replace x (T (A a))", "(T (A a))"),
        ("(S (A a) (B b) (C c))", "A=x > S $+ B=y", "createSubtree X x y", "(S (X (A a) (B b)) (C c))"),
        ("(S (A a) (B b))", "B=x > S", "createSubtree X x", "(S (A a) (X (B b)))"),
        ("(S (A a))", "S=x !> TOP", "createSubtree TOP x", "(TOP (S (A a)))"),
        ("(S (A a) (B b))", "B=x > S", "createSubtree (X (Y@) (Z z)) x", "(S (A a) (X (Y (B b)) (Z z)))"),
        ("(A (B (C c) (D d)))", "B=x", "adjoin (F (G@) (H h)) x", "(A (F (G (C c) (D d)) (H h)))"),
        ("(A (B (C c) (D d)))", "B=x !< G", "adjoinH (F (G@) (H h)) x", "(A (B (G (C c) (D d)) (H h)))"),
        ("(A (B (C c) (D d)))", "B=x !> F", "adjoinF (F (G@) (H h)) x", "(A (F (B (C c) (D d)) (H h)))"),
        ("(S (A a) (B b-2))", "A=x $ B=y", "coindex x y", "(S (A-3 a) (B-3 b-2))"),
        ("(S (A a) (B b))", "A=x $ B=y", "coindex x y", "(S (A-1 a) (B-1 b))"),
        ("(S (A a) (B b))", "S ?< C=x < B=y", "if exists y delete y\nif exists x delete x", "(S (A a))"),
        ("(S (A a) (B b))", "A=x", "[relabel x C] [insert (D=n d) $- x] [relabel n E]", "(S (C a) (E d) (B b))"),
        (r"(S (A a))", "A=x", r"replace x (N\@ n\=m)", "(S (N@ n=m))"),
    ],
)
def test_operations_have_the_meaning_of_tsurgeon(tree, pattern, operations, changed):
    assert operate(tree, pattern, *operations.split("\n")) == changed


@pytest.mark.parametrize(
    ("tree", "pattern", "operation", "message"),
    [
        ("(S (A (B b)) (C c))", "B=x", "delete x", "instead of delete"),
        ("(S (A a))", "a=x", "delete x", "instead of delete"),
        ("(S (A a) (B b))", "A=x", "insert (C c) >1 x", "a word needs a tag"),
        ("(S (A a) (B b))", "S=x", "insert (C c) >9 x", "has 2 children"),
        ("(S (A a) (B b))", "S=x", "insert (C c) $+ x", "cannot have a sister"),
        ("(S (A a) (B b))", "S=x", "excise x x", "a tree has one root"),
        ("(S (A a) (B b))", "A=x $ B=y", "excise x y", "does not dominate"),
        ("(S (A (B b)) (C c))", "B=x : C=y", "createSubtree X x y", "no sisters"),
        ("(S (A (B b)) (C c))", "A=x < B=y", "move x >1 y", "inside of it"),
        ("(S (A a))", "S=x", "replace x (T (A a)) (T (B b))", "cannot replace the root"),
        ("(S (A a))", "A=x", "relabel x A", "change nothing"),
        ("(S (A a))", "S=x < A=y", "insert y >1 x", "still matches"),
        ("(S (A a))", "S=x ?< B=y", "delete y", "if exists y"),
        ("(S (A a) (B b))", "A=x", "excise x x", "the word 'a' has sisters"),
        ("(S (A (B b)) (C (D d)))", "B=x > A : C=y", "move x >1 y", "'A' has no children left"),
    ],
)
def test_operations_that_cannot_be_applied_are_errors(tree, pattern, operation, message, monkeypatch):
    monkeypatch.setattr("treecrf.trees.search.surgery.MAX_CHANGES", 20)
    with pytest.raises(SurgeryError, match=message):
        operate(tree, pattern, operation)


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


@pytest.mark.parametrize(("label", "nodes"), [("", 1), ("b", 0)])
def test_a_tree_grows_up_to_its_limits(label, nodes):
    state = EditState(EditNode("S", []), {}, {}, Growth(nodes=2, characters=3))
    assert state.add("abc", nodes=2) == "abc"
    with pytest.raises(SurgeryError, match="the operations add more than"):
        state.add(label, nodes=nodes)
