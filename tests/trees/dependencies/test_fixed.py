"""Fixed expressions of several words."""

from treecrf.trees.dependencies.fixed import merge_fixed_expressions
from treecrf.trees.dependencies.units import build_units
from treecrf.trees.tree import Tree
from trees.dependencies.constructions import arcs_text, constructions


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
