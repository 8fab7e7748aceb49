import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.trees.tree import Tree
from treecrf.trees.treebank.productions import ProductionCounts, productions, productions_to_text

SYMBOLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)


def test_words_are_no_symbols():
    tree = Tree.parse("(TOP (S (NP (NN cat)) (VP (VBD slept))))")
    assert list(productions(tree)) == [("TOP", "S"), ("S", "NP", "VP"), ("NP", "NN"), ("VP", "VBD")]


@given(st.dictionaries(st.lists(SYMBOLS, min_size=2, max_size=3).map(tuple), st.integers(1, 10**11), max_size=5))
def test_counts_are_read_back(counts):
    text = productions_to_text(counts)
    assert dict(ProductionCounts(text)) == counts and bool(ProductionCounts(text)) == bool(counts)


def test_frequent_productions_come_first():
    text = productions_to_text({("B", "b"): 1, ("A", "a"): 1, ("C", "c d"): 12})
    assert text == "12 C c\\u{20}d\n1 A a\n1 B b\n"
    counts = ProductionCounts(text)
    assert len(counts) == 3 and counts["C", "c d"] == 12 and next(iter(counts)) == ("C", "c d")


@pytest.mark.parametrize("line", ["", "2", "2 NP", "x NP NN", "1234567890123 NP NN", "-1 NP NN"])
def test_other_lines_are_errors(line):
    with pytest.raises(ValueError, match=r"line 2 is .*; expected a count, a label, and its children"):
        len(ProductionCounts(f"1 NP NN\n{line}\n"))
