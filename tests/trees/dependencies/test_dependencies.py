"""CoNLL-U, and properties that hold for the dependencies of every tree."""

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import trees
from treecrf.trees.dependencies import Dependencies, to_dependencies
from treecrf.trees.dependencies.dependencies import universal_tag
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREEBANKS = Path(__file__).parents[4] / "shared" / "treebanks"
TEXTS = """
    TOP S SBAR SBARQ SQ SINV NP VP PP ADJP ADVP QP WHNP WHPP WHADVP PRN UCP FRAG CONJP INTJ PRT NX X CC CD DT EX IN JJ
    JJR MD NN NNS NNP POS PRP PRP$ RB RP TO UH VB VBD VBG VBN VBZ WDT WP WRB HYPH SYM , . : `` '' -LRB- -RRB- $ is to
    not that what who as well such of there it you know more than at least in order ( ) - 5
"""
PENN_TEXTS = st.sampled_from(TEXTS.split())


def check_tree(dependencies: Dependencies) -> None:
    """Every word has one head, and following heads leads from every word to the one root."""
    count = len(dependencies.words)
    assert len(dependencies.heads) == len(dependencies.relations) == len(dependencies.universal_tags) == count
    assert dependencies.heads.count(0) == 1
    assert [relation == "root" for relation in dependencies.relations] == [head == 0 for head in dependencies.heads]
    for word in range(1, count + 1):
        path = [word]
        while path[-1]:
            path.append(dependencies.heads[path[-1] - 1])
            assert len(path) <= count + 1, f"a cycle: {dependencies}"


@given(trees(max_words=8))
@settings(max_examples=50, deadline=None)
def test_arcs_of_any_tree_form_a_tree(tree):
    check_tree(to_dependencies(tree))


@given(trees(PENN_TEXTS, max_words=10))
@settings(max_examples=150, deadline=None)
def test_arcs_of_any_penn_tree_form_a_tree(tree):
    check_tree(to_dependencies(tree))


@pytest.mark.parametrize("name", ["gum", "ptb_sample"])
def test_arcs_of_treebanks_form_trees(name):
    path = TREEBANKS / name / "dev.mrg.gz"
    if not path.is_file():
        pytest.skip(f"{name} is not in ../shared/treebanks")
    for tree in islice(read_trees(path), 400):
        check_tree(to_dependencies(tree))


def test_deep_trees_need_no_recursion():
    text = "(NN a)"
    for label in ("NP", "VP", "S", "SBAR", "PP") * 400:
        text = f"({label} (IN of) {text})"
    check_tree(to_dependencies(Tree.parse(text)))


def test_conllu_has_the_text_the_spaces_and_ten_columns():
    tree = Tree.parse("(S (NP (PRP I)) (VP (VBP agree)) (-LRB- -LRB-) (UH yes) (-RRB- -RRB-) (. .))")
    lines = to_dependencies(tree).conllu(
        text="I agree (yes).", sentence_id="a-1", spaces=[True, True, False, False, False, False]
    )
    assert lines.split("\n") == [
        "# sent_id = a-1",
        "# text = I agree (yes).",
        "1\tI\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_",
        "2\tagree\t_\tVERB\tVBP\t_\t0\troot\t_\t_",
        "3\t(\t_\tPUNCT\t-LRB-\t_\t4\tpunct\t_\tSpaceAfter=No",
        "4\tyes\t_\tINTJ\tUH\t_\t2\tdiscourse\t_\tSpaceAfter=No",
        "5\t)\t_\tPUNCT\t-RRB-\t_\t4\tpunct\t_\tSpaceAfter=No",
        "6\t.\t_\tPUNCT\t.\t_\t2\tpunct\t_\tSpaceAfter=No",
        "",
        "",
    ]


def test_words_with_line_breaks_stay_in_their_column():
    rows = to_dependencies(Tree("NP", (Tree("NN", ("a\tb\n",)), Tree("NN", ("",))))).conllu().split("\n")
    assert [row.count("\t") for row in rows] == [0, 9, 9, 0, 0]
    assert rows[1].split("\t")[1] == "a b"


def test_heads_follow_the_chosen_rules():
    from treecrf.trees.search import CHINESE

    tree = Tree.parse("(NP (NP (NN a)) (NP (NN b)))")
    assert (tree.heads()[0], tree.heads(CHINESE)[0]) == (0, 1)


@pytest.mark.parametrize(
    ("word", "tag", "relation", "upos"),
    [
        ("cats", "NNS", "nsubj", "NOUN"),
        ("is", "VBZ", "cop", "AUX"),
        ("been", "VBN", "aux:pass", "AUX"),
        ("can", "MD", "root", "AUX"),
        ("is", "VBZ", "root", "VERB"),
        ("to", "TO", "cop", "PART"),
        ("that", "IN", "mark", "SCONJ"),
        ("in", "IN", "case", "ADP"),
        ("to", "TO", "case", "ADP"),
        ("to", "TO", "mark", "PART"),
        ("this", "DT", "nsubj", "PRON"),
        ("which", "WDT", "det", "DET"),
        ("all", "DT", "det:predet", "DET"),
        ("Not", "RB", "advmod", "PART"),
        ("very", "RB", "advmod", "ADV"),
        ("%", "NN", "obj", "SYM"),
        ("x", "ZZ", "dep", "X"),
    ],
)
def test_tags_depend_on_the_relation_and_the_word(word, tag, relation, upos):
    assert universal_tag(word, tag, relation) == upos
