from treecrf.trees.dependencies.units import Arcs, Unit, build_units, first_word, in_postorder, positions
from treecrf.trees.tree import Tree
from trees.dependencies.constructions import unit, wrong_constructions


def test_a_tree_becomes_units_with_categories_and_lower_case_words():
    root = unit("(S (NP-SBJ-1 (PRP We)) (VP (VBP do) (RB n’t)) (-LRB- -LRB-))")
    assert [child.label for child in root.children] == ["NP", "VP", "-LRB-"]
    assert [(leaf.text, leaf.head) for leaf in root.leaves()] == [("we", 0), ("do", 1), ("n't", 2), ("(", 3)]
    assert all(child.parent is root for child in root.children) and root.parent is None


def test_a_verb_phrase_with_the_trace_of_its_subject_is_passive():
    assert unit("(VP (VBN eaten) (NP (-NONE- *-1)))").is_passive
    for tree in ("(VP (VBN eaten) (NP (-NONE- *T*-1)))", "(VP (VB eat) (NP (-NONE- *-1) (NN cat)))"):
        assert not unit(tree).is_passive
    for tree in ("(VP (VBN eaten) (PP (-NONE- *-1)))", "(PP (VBN eaten) (NP (-NONE- *-1)))"):
        assert not unit(tree).is_passive


def test_items_are_the_children_without_punctuation():
    root = unit("(S (`` ``) (PRN (, ,)) (NP (PRP We)))")
    assert root.items == [root.children[2]] and root.first_item is root.children[2]
    assert root.children[1].is_punctuation and not root.is_punctuation
    assert first_word(root).text == "we" and first_word(root.children[1]) is root.children[1]
    assert root.children[1].first_item is root.children[1]


def test_a_removed_word_takes_empty_constituents_with_it():
    root = unit("(S (NP (NP (NN cat))) (. .))")
    root.leaves()[0].remove()
    assert [child.label for child in root.children] == ["."] and root.is_punctuation


def test_children_come_before_parents():
    root = unit("(S (NP (NN cat)) (VP (VBD slept)))")
    order = in_postorder(root)
    assert order[-1] is root and len(order) == 5
    assert all(order.index(child) < order.index(parent) for parent in order for child in parent.children)


def test_a_relabeled_word_stays_punctuation():
    word = Unit("HYPH", [], head=3, text="-").relabeled("CC")
    assert (word.label, word.head, word.text, word.is_punctuation) == ("CC", 3, "-", True)
    assert not Unit("CC", [], text="and").is_punctuation


def test_an_empty_word_is_a_leaf():
    (leaf,) = build_units(Tree("NP", (Tree("NN", ("",)),))).children
    assert leaf.is_leaf and leaf.text == "_"


def test_positions_are_found_by_label():
    children = unit("(NP (NN a) (CC and) (NN b) (NNS c))").children
    assert positions(children, ("NN", "NNS")) == [0, 2, 3] and positions(children, ("DT",)) == []


def test_a_word_is_attached_once_and_never_to_itself():
    arcs = Arcs(3)
    arcs.attach(0, 1, "det")
    arcs.attach(1, 1, "obj")
    assert arcs.heads == [1, -1, -1] and arcs.relations == ["det", "dep", "dep"]
    arcs.attach(0, 2, "amod")
    assert arcs.heads == [2, -1, -1] and arcs.dependents(2) == [0] and arcs.dependents(1) == []


def test_a_promoted_word_takes_over_the_dependents_of_its_head():
    arcs = Arcs(4)
    arcs.attach(0, 2, "nsubj")
    arcs.attach(3, 2, "obj")
    arcs.promote(3, 2, "cop")
    assert arcs.heads == [3, -1, 3, -1] and arcs.relations[:3] == ["nsubj", "dep", "cop"]


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []
