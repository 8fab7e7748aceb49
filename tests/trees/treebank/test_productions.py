from treecrf.trees.tree import Tree
from treecrf.trees.treebank.productions import productions, productions_to_text


def test_words_are_no_symbols():
    tree = Tree.parse("(TOP (S (NP (NN cat)) (VP (VBD slept))))")
    assert list(productions(tree)) == [("TOP", "S"), ("S", "NP", "VP"), ("NP", "NN"), ("VP", "VBD")]


def test_frequent_productions_come_first():
    text = productions_to_text({("B", "b"): 1, ("A", "a"): 1, ("C", "c d"): 12})
    assert text == "12 C c\\u{20}d\n1 A a\n1 B b\n"
