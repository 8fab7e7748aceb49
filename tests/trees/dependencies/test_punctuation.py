"""Attachment of punctuation marks."""

from treecrf.trees.dependencies.punctuation import PunctuationAttacher
from treecrf.trees.dependencies.units import Arcs
from trees.dependencies.constructions import arcs_text, constructions, wrong_constructions


@constructions("punctuation")
def test_marks_go_to_the_unit_that_they_set_off(tree, arcs):
    assert arcs_text(tree) == arcs


def attach(words, tags, heads):
    """The heads of all words, for words with these heads and punctuation with None."""
    arcs = Arcs(len(words))
    arcs.heads = [-1 if head is None else head for head in heads]
    marks = [head is None for head in heads]
    PunctuationAttacher(arcs, words, tags, parents=[0] * len(words), is_punctuation=marks).attach_all()
    return arcs.heads


def test_marks_that_have_a_head_keep_it():
    arcs = Arcs(2)
    arcs.attach(1, 0, "case")
    PunctuationAttacher(arcs, ["a", "-"], ["NN", ":"], parents=[0, 0], is_punctuation=[False, True]).attach_all()
    assert arcs.relations == ["dep", "case"]


def test_a_bracket_closes_the_last_open_one():
    words, tags = ["(", "(", "a", ")", "b", ")"], ["-LRB-", "-LRB-", "NN", "-RRB-", "NN", "-RRB-"]
    assert attach(words, tags, [None, None, 4, None, -1, None]) == [4, 2, 4, 2, -1, 4]


def test_a_closing_mark_without_an_opening_one_goes_to_its_left():
    assert attach(["a", "b", ")"], ["NN", "NN", "-RRB-"], [-1, 0, None]) == [-1, 0, 0]


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []
