"""Heads of noun phrases, names, numbers, adjective phrases and adverb phrases."""

from treecrf.trees.dependencies.nominals import is_possessive, is_temporal
from trees.dependencies.constructions import arcs_text, constructions, unit, wrong_constructions


@constructions("nominals")
def test_nouns_numbers_and_names_have_the_right_head(tree, arcs):
    assert arcs_text(tree) == arcs


def test_possessives_end_with_their_mark():
    assert is_possessive(unit("(NP (NN cat) (NP (NN tail) (POS s)) (, ,))"))
    assert not is_possessive(unit("(NP (POS s) (NN cat))"))


def test_times_are_units_of_time_and_years():
    assert is_temporal(unit("(NP (DT this) (NN week))")) and is_temporal(unit("(CD 1998)"))
    assert not is_temporal(unit("(CD 199)")) and not is_temporal(unit("(CD 19.8)"))
    assert is_temporal(unit("(NP (, week))")) and not is_temporal(unit("(NN 1998)"))
    assert not is_temporal(unit("(NP (NN week) (NN plan))"))


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []
