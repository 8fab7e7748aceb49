"""Names of relations between a head and the other children of a constituent."""

from trees.dependencies.constructions import arcs_text, constructions, wrong_constructions


@constructions("relations", "clauses", "wh_clauses")
def test_items_have_the_relations_of_universal_dependencies(tree, arcs):
    assert arcs_text(tree) == arcs


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []
