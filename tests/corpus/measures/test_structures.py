import re

import pytest

from small import FIFTY
from treecrf.corpus.measures import measure_trees
from treecrf.corpus.measures.structures import (
    COUNTS,
    MEASURES,
    PATTERNS,
    compute_measures,
    count_structures,
    count_trees,
    measures_of_language,
)
from treecrf.trees.search import Forest, Pattern
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREES = list(read_trees(FIFTY))
# the tree of NeoSCA's tests, and the frequencies that they expect
WALK = """
(ROOT (S (NP (EX There)) (VP (VBD was) (NP (NP (DT no) (NN possibility)) (PP (IN of) (S (VP (VBG taking)
(NP (DT a) (NN walk)) (NP (DT that) (NN day)))))))  (. .)))
"""
WALK_COUNTS = {"W": 10, "S": 1, "VP": 2, "C": 1, "T": 1, "DC": 0, "CT": 0, "CP": 0, "CN": 1}


def values(trees, names):
    measures = measure_trees(trees)
    return {name: measures[name].value for name in names}


def test_the_example_of_neosca_has_its_frequencies():
    assert values([Tree.parse(WALK)], WALK_COUNTS) == WALK_COUNTS
    indices = values([Tree.parse(WALK)], ("MLS", "MLC", "VP/T", "CN/C", "DC/T"))
    assert indices == {"MLS": 10, "MLC": 10, "VP/T": 2, "CN/C": 1, "DC/T": 0}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        # a fragment is a clause and a T-unit
        ("(TOP (FRAG (RB Not) (NP (DT this)) (. .)))", {"W": 2, "C": 1, "T": 1, "VP": 0}),
        # a question whose verb has no verb phrase
        ("(TOP (SQ (VBZ Is) (NP (PRP he)) (ADJP (JJ tall)) (. ?)))", {"VP": 1, "C": 1, "T": 1}),
        # an imperative, and a phrase with two conjunctions, which counts once
        ("(TOP (S (VP (VB Eat) (NP (NN a) (CC or) (NN b) (CC or) (NN c)))))", {"C": 1, "CP": 1}),
        # two coordinated main clauses, of which one has a dependent clause
        (
            "(TOP (S (S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP he)) (VP (VBZ naps))))))"
            " (CC but) (S (NP (PRP we)) (VP (VBP run)))))",
            {"C": 3, "T": 2, "DC": 1, "CT": 1, "CN": 1},
        ),
        # words with a hyphen are words, and hyphens are not
        ("(TOP (NP (JJ well-known) (NN x) (HYPH -) (NN y)))", {"W": 3}),
    ],
)
def test_structures(text, counts):
    assert values([Tree.parse(text)], counts) == counts


def test_counts_equal_the_counts_of_single_patterns():
    forest = Forest(TREES)
    counts = count_structures(forest)
    assert list(counts) == list(PATTERNS)
    for name, patterns in PATTERNS.items():
        nodes = [{match.position for match in Pattern(pattern).find(forest)} for pattern in patterns]
        assert counts[name].sum() == sum(map(len, nodes))


def test_words_are_those_of_l2sca():
    counts = count_trees(Forest(TREES))
    text = " ".join(map(str, TREES))
    assert counts[:, 0].sum() == len(re.findall(r"\([A-Z]+\$? [^()]+\)", text))


def test_a_ratio_to_zero_is_zero():
    totals = count_trees(Forest.parse("(TOP (X (. .)))")).sum(axis=0)
    assert dict(zip(COUNTS, totals.tolist(), strict=True))["S"] == 1
    assert compute_measures(totals).tolist() == [1.0 if name == "S" else 0.0 for name in MEASURES]


def test_l2sca_is_for_english():
    assert measures_of_language("en") == tuple(MEASURES)
    assert measures_of_language("zh")[:4] == ("W", "S", "MLS", "nodes")
    assert not {"C", "T", "CN/C"} & set(measures_of_language("zh"))


def test_the_frazier_maximum_is_the_largest_sum_of_three_words():
    counts = count_trees(Forest(Tree.parse("(TOP (S (NP (NN a)) (NP (NN b)) (NP (NN c)) (NP (NN d))))")))
    assert counts[0, COUNTS.index("frazier maximum")] == 4.5  # 2.5, 1 and 1
