from treecrf.trees.dependencies.arcs import Arcs


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
