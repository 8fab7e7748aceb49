import re

from small import FIFTY
from treecrf.corpus.measures.totals import COUNTS, MEASURES, compute_measures, count_trees, measures_of_language
from treecrf.trees.search import Forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREES = list(read_trees(FIFTY))


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
