"""Wh-phrases of questions, relative clauses and free relatives."""

from trees.dependencies.constructions import arcs_text, constructions, wrong_constructions


@constructions("wh_clauses")
def test_wh_phrases_are_attached_to_the_word_that_they_belong_to(tree, arcs):
    assert arcs_text(tree) == arcs


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []
