"""Names of relations between a head and the other children of a constituent."""

import pytest

from treecrf.trees.tree import Tree
from trees.dependencies.constructions import arcs_text, constructions, wrong_constructions


@constructions("relations", "clauses", "wh_clauses")
def test_items_have_the_relations_of_universal_dependencies(tree, arcs):
    assert arcs_text(tree) == arcs


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []


@pytest.mark.parametrize(
    "text, arcs",
    [
        (
            "(S (NP-TMP (NN now)) (NP-SBJ (NNP Kim)) (VP (VBD ran) (NP-EXT (NNS miles))))",
            "obl:unmarked nsubj root obl:unmarked",
        ),
        (
            "(S (NP-SBJ (NN vote)) (NP-VOC (NNP Ann)) (VP (VBZ is) (VP (VBN held))))",
            "nsubj:pass vocative aux:pass root",
        ),
        ("(S (S-SBJ (VP (VBG going))) (VP (VBZ helps) (NP (PRP us))))", "csubj root obj"),
        (
            "(S (NP-SBJ-1 (NN car)) (VP (VBD got) (VP (VBN stolen) (NP (-NONE- *-1)) (NP-TMP (NN today)))))",
            "nsubj:pass aux:pass root obl:unmarked",
        ),
        ("(S (NP-SBJ-1 (PRP it)) (VP (VBN seen) (NP (-NONE- *-1))))", "nsubj:pass root"),
        ("(S (NP-SBJ (PRP it)) (VP (VBN seen) (NP (-NONE- *?*))))", "nsubj root"),
    ],
)
def test_functions_and_traces_decide_about_relations(text: str, arcs: str) -> None:
    assert " ".join(Tree.parse(text).to_dependencies().relations) == arcs
