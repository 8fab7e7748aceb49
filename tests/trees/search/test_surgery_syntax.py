import pytest

from treecrf.trees.search import PatternError, Surgery, SurgeryError, read_surgeries
from treecrf.trees.tree import Tree


@pytest.mark.parametrize(
    ("operation", "column"),
    [
        ("remove x", 0),
        ("delete", 6),
        ("delete y", 7),
        ("excise x", 8),
        ("relabel x", 9),
        ("relabel x /a(b/c/", 10),
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
