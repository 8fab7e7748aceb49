import pytest

from treecrf.trees.search import PatternError, Surgery, SurgeryError, read_surgeries


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
