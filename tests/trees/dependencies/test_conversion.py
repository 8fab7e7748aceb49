"""Arcs of prepositional phrases, passives, repairs, numbers, coordinations and hyphenated words."""

from trees.dependencies.constructions import arcs_text, constructions, wrong_constructions


@constructions("conversion", "groups", "nominals", "wh_clauses")
def test_words_have_the_arcs_of_universal_dependencies(tree, arcs):
    assert arcs_text(tree) == arcs


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []
