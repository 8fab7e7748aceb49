import pytest

from treecrf.trees.search import PatternError, Surgery, SurgeryError, apply_surgeries, read_surgeries
from treecrf.trees.tree import Tree

SCRIPT = r"""% removes modifiers
NP=np <
  PP=p          % over two lines

prune p

/^NP(.*)/#1\%v=x
% no line without a comment ends the pattern
  !< PP

relabel x /^NP/XP/
"""


def test_a_script_applies_its_surgeries_in_turn():
    tree = Tree.parse("(S (NP (NN cat) (PP (IN of) (NP (NNP Kim)))) (VP (VBD sat)))")
    assert str(apply_surgeries(tree, read_surgeries(SCRIPT))) == "(S (XP (NN cat)) (VP (VBD sat)))"
    deleting = read_surgeries("S=s\n\ndelete s\n\nNP=n\n\nrelabel n X\n")
    assert apply_surgeries(tree, deleting) is None


def test_surgery_needs_an_operation():
    with pytest.raises(SurgeryError, match="no operation"):
        Surgery("NP", "\n")


@pytest.mark.parametrize(
    ("operation", "column"),
    [
        ("remove x", 0),
        ("delete", 6),
        ("delete y", 7),
        ("excise x", 8),
        ("relabel x", 9),
        ("relabel x /a(b/c/", 10),
        ("relabel x /a/$1/", 10),
        ("relabel x /(a)/$2/", 10),
        ("insert x", 8),
        ("insert x =1 x", 9),
        ("insert x >0 x", 9),
        ("adjoin (A a) x", 7),
        ("adjoin x x", 7),
        ("insert (A@) $+ x", 7),
        ("move (A a) $+ x", 5),
        ("insert (A (B b) $+ x", 20),
        ("createSubtree X x x x", 20),
        ("if exists", 9),
        ("[delete x", 9),
        ("insert " + "(A " * 60, 160),
    ],
)
def test_operations_that_do_not_parse_have_a_caret(operation, column):
    with pytest.raises(PatternError) as raised:
        Surgery("A=x", operation)
    assert raised.value.offset == column
    assert str(raised.value).endswith("\n  " + " " * column + "^")


@pytest.mark.parametrize("script", ["", "NP=n\n", "NP=n\n\ndelete n\n\nVP\n"])
def test_a_script_needs_operations_for_every_pattern(script):
    with pytest.raises(SurgeryError, match="pairs of a pattern and its operations"):
        read_surgeries(script)


def test_nodes_of_an_inserted_tree_have_names_without_their_marks():
    surgery = Surgery("A=x !$ B", "insert (B (C=c \\@\\=)) $- x\nrelabel c D")
    assert str(surgery.apply(Tree.parse("(S (A a))"))) == "(S (A a) (B (D @=)))"


def test_brackets_and_conditions_nest():
    surgery = Surgery("A=x ?< (B=b)", "if exists b [[delete b] [coindex x]]\nif exists x relabel x C")
    assert str(surgery.apply(Tree.parse("(S (A (B b) (B c)))"))) == "(S (C (B c)))"


@pytest.mark.parametrize(
    ("operation", "tree"),
    [
        ("relabel x Y", "(S (Y a) (B b) (C c))"),
        ("relabel x |Y/Z|", "(S (Y/Z a) (B b) (C c))"),
        ("relabel x |", "(S (| a) (B b) (C c))"),
        ("relabel x /", "(S (/ a) (B b) (C c))"),
        ("relabel x /Y\\/Z/", "(S (Y/Z a) (B b) (C c))"),
        ("relabel x /A/Y/", "(S (Y a) (B b) (C c))"),
        ("relabel x /(A)()/$1Y/", "(S (AY a) (B b) (C c))"),
        ("replace x y", "(S (B b) (B b) (C c))"),
        ("replace x (D d) (E e)", "(S (D d) (E e) (B b) (C c))"),
        ("createSubtree X x", "(S (X (A a)) (B b) (C c))"),
        ("createSubtree X x y", "(S (X (A a) (B b)) (C c))"),
        ("createSubtree (X (Y@)) x y", "(S (X (Y (A a) (B b))) (C c))"),
        ("[createSubtree X x] [relabel x Y]", "(S (X (Y a)) (B b) (C c))"),
        ("delete x y", "(S (C c))"),
        ("[prune x y]", "(S (C c))"),
        ("insert (D d) >1 s", "(S (D d) (A a) (B b) (C c))"),
        ("insert (D d) >-1 s", "(S (A a) (B b) (C c) (D d))"),
        ("insert (D d) $- x", "(S (A a) (D d) (B b) (C c))"),
        ("move x >3 s", "(S (B b) (C c) (A a))"),
        ("moveprune x $- y", "(S (B b) (A a) (C c))"),
        ("adjoin (X (Y@)) x", "(S (X (Y a)) (B b) (C c))"),
    ],
)
def test_operations_change_the_tree(operation, tree):
    surgery = Surgery("S=s !< D < (A=x . (B=y . C))", operation)
    assert str(surgery.apply(Tree.parse("(S (A a) (B b) (C c))"))) == tree


@pytest.mark.parametrize(
    ("operation", "tree"), [("prune x", "(S (C (D d)))"), ("moveprune x >1 y", "(S (C (B b) (D d)))")]
)
def test_pruning_operations_remove_parents_without_children(operation, tree):
    surgery = Surgery("B=x > A : C=y", operation)
    assert str(surgery.apply(Tree.parse("(S (A (B b)) (C (D d)))"))) == tree


def test_a_script_is_pairs_of_a_pattern_and_its_operations():
    script = "A=x\n\nrelabel x B % comment\n% more\nrelabel x C\n\n\nC=y\n\nrelabel y \\%\n"
    surgeries = read_surgeries(script)
    assert len(surgeries) == 2
    assert str(surgeries[1].apply(surgeries[0].apply(Tree.parse("(S (A a))")))) == "(S (% a))"


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("relabel x A", "the operations change nothing"),
        ("insert (A b) $+ x", "the pattern still matches after 1000 changes"),
        ("insert (D d) >9 x", "surgery at 'A=x': "),
    ],
)
def test_an_error_of_a_surgery_names_its_pattern(operation, message):
    with pytest.raises(SurgeryError, match=f"{message}") as raised:
        Surgery("A=x", operation).apply(Tree.parse("(S (A a))"))
    assert str(raised.value).startswith("surgery at 'A=x': ")


@pytest.mark.parametrize(
    ("verb", "result"),
    [("adjoin", "(S (X (Z (B b))))"), ("adjoinH", "(S (A (Z (B b))))"), ("adjoinF", "(S (X (A (B b))))")],
)
def test_an_adjoined_tree_has_one_foot(verb, result):
    surgery = Surgery("A=x < B !> X", f"{verb} (X (Z@)) x")
    assert str(surgery.apply(Tree.parse("(S (A (B b)))"))) == result
    for tree, feet in (("(X (A a))", 0), ("(X (A@) (A@))", 2)):
        with pytest.raises(PatternError, match=f"expected one label with '@', the foot, found {feet} in the tree"):
            Surgery("A=x", f"{verb} {tree} x")
