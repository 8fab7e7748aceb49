import pytest

from treecrf.trees.search import Surgery, SurgeryError
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
    ],
)
def test_operations_that_cannot_be_applied_are_errors(tree, pattern, operation, message, monkeypatch):
    monkeypatch.setattr("treecrf.trees.search.surgery.MAX_CHANGES", 20)
    with pytest.raises(SurgeryError, match=message):
        operate(tree, pattern, operation)
