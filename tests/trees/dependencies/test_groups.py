"""Groups of sisters: fixed expressions, conjuncts, hyphenated words, names, limits and comments."""

from treecrf.trees.dependencies.groups import (
    group_children,
    group_coordinations,
    group_names,
    mark_contrasts,
    merge_fixed_expressions,
)
from treecrf.trees.dependencies.units import build_units
from treecrf.trees.tree import Tree
from trees.dependencies.constructions import arcs_text, constructions, unit, wrong_constructions


@constructions("groups")
def test_words_of_a_group_stay_together(tree, arcs):
    assert arcs_text(tree) == arcs


def texts(units):
    return [" ".join(leaf.text for leaf in unit.leaves()) for unit in units]


def test_names_are_grouped_if_there_are_other_words():
    children = unit("(NP (NNP Ana) (NNP Silva) (, ,) (NN shop))").children
    assert texts(group_names("NP", children)) == ["ana silva", ",", "shop"]
    assert group_names("VP", children) == children
    assert texts(group_names("NP", children[:3])) == ["ana", "silva", ","]
    assert texts(group_names("NP", [children[0], *children[2:]])) == ["ana", ",", "shop"]


def test_a_coordination_is_the_constituent_or_a_group():
    children, conjuncts = group_coordinations("VP", unit("(VP (VB eat) (CC and) (VB sleep))").children)
    assert texts(children) == ["eat", "and", "sleep"] and texts(conjuncts) == ["eat", "sleep"]
    children, conjuncts = group_coordinations("VP", unit("(VP (VB eat) (CC and) (VB sleep) (RB well))").children)
    assert texts(children) == ["eat and sleep", "well"] and conjuncts == []
    assert texts(children[0].conjuncts) == ["eat", "sleep"] and children[0].label == "VB"
    single = unit("(VP (CC and) (VB eat))").children
    assert group_coordinations("VP", single) == (single, [])


def test_groups_have_their_constituent_as_the_parent():
    root = unit("(S (NP (JJ old) (CC and) (JJ new) (NNS houses)) (VP (VBP stand)))")
    words = root.leaves()
    group_children(root)
    group = root.children[0].children[0]
    assert texts([group]) == ["old and new"] and group.parent is root.children[0]
    assert words[0].parent is group and root.leaves() == words


@constructions("fixed")
def test_expressions_act_as_one_word(tree, arcs):
    assert arcs_text(tree) == arcs


def merged(text):
    root = build_units(Tree.parse(text))
    arcs = merge_fixed_expressions(root)
    return arcs, [(leaf.text, leaf.label) for leaf in root.leaves()], root


def test_the_first_word_of_an_expression_has_its_tag():
    arcs, words, _ = merged("(NP (NNS cats) (CONJP (RB as) (RB well) (IN as)) (NNS dogs))")
    assert arcs == [(2, 1), (3, 1)] and words == [("cats", "NNS"), ("as", "CC"), ("dogs", "NNS")]


def test_a_phrase_with_a_fixed_preposition_is_a_prepositional_phrase():
    assert merged("(ADVP (RB instead) (PP (IN of) (NP (NN rain))))")[2].label == "PP"
    assert merged("(NP (RB instead) (PP (IN of) (NP (NN rain))))")[2].label == "NP"
    assert merged("(ADVP (RB as) (RB well))")[2].label == "ADVP"


def test_a_constituent_that_loses_all_words_is_removed():
    _, words, root = merged("(S (PP (IN because) (PP (IN of)) (NP (NN rain))))")
    assert words == [("because", "IN"), ("rain", "NN")] and len(root.children[0].children) == 2


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []


def test_not_after_a_first_comma_is_no_conjunction():
    children = unit("(NP (, ,) (RB not) (NP (NNS laws)))").children
    assert [child.label for child in mark_contrasts(children)] == [",", "RB", "NP"]
    children = unit("(NP (NP (NNS kings)) (, ,) (RB not) (NP (NNS laws)))").children
    assert [child.label for child in mark_contrasts(children)][2] == "CONJP"
