from treecrf.trees.tree import Tree
from treecrf.trees.treebank.penn_format import penn_format


def test_trees_have_the_lines_of_stanford_s_programs():
    tree = Tree.parse(
        "(ROOT (S (NP (NP (DT The) (NN cat)) (CC and) (NP (NNS dogs))) (ADVP (RB often))"
        " (VP (VBP see) (NN x) (CC or) (NN y) (PP (IN of) (NP (-LRB- -LRB-) (NN it)))) (. .) (. .)))"
    )
    assert penn_format(tree).split("\n") == [
        "(ROOT",
        "  (S",
        "    (NP",
        "      (NP (DT The) (NN cat))",
        "      (CC and)",
        "      (NP (NNS dogs)))",
        "    (ADVP (RB often))",
        "    (VP (VBP see) (NN x)",
        "      (CC or)",
        "      (NN y)",
        "      (PP (IN of)",
        "        (NP (-LRB- -LRB-) (NN it))))",
        "    (. .) (. .)))",
    ]


def test_a_word_and_a_deep_tree_have_a_format():
    assert penn_format(Tree.parse("(NN cat)")) == "(NN cat)"
    depth = 3000
    tree = Tree("NN", ("cat",))
    for _ in range(depth):
        tree = Tree("NP", (tree,))
    lines = penn_format(tree).split("\n")
    assert len(lines) == depth and lines[-1].endswith("(NP (NN cat)" + ")" * depth)
    assert penn_format(Tree("A(B", (Tree("NN", ("c)d",)),))) == "(A-LRB-B (NN c-RRB-d))"
