from random import Random

import pytest

from treecrf.trees.search import Forest, Pattern, compiled, naive
from treecrf.trees.search.program import find_matches
from treecrf.trees.search.relations import RELATIONS, SYNONYMS
from treecrf.trees.tree import Tree
from trees.search.random_patterns import PATHS, PLAIN
from trees.search.random_trees import random_tree

needs_c = pytest.mark.skipif(not compiled.matcher, reason="treecrf was installed without its C code")


@needs_c
def test_every_relation_has_the_candidates_of_its_definition():
    forest = Forest([random_tree(Random(seed)) for seed in range(12)])
    for symbol in [*PLAIN, *PATHS, "<2", "<-2", ">2", ">-2"]:
        pattern = Pattern(f"__ {symbol} __=other")
        assert list(find_matches(pattern.program, forest)) == list(naive.find_matches(pattern.expression, forest)), (
            symbol
        )


@pytest.mark.parametrize(
    ("pattern", "labels"),
    [
        ("__ >, S", ["NP"]),
        ("__ >- S", ["."]),
        ("__ >` S", ["."]),
        ("__ >2 S", ["VP"]),
        ("__ >-2 S", ["VP"]),
        ("__ <, DT", ["NP"]),
        ("__ <- NN", ["NP"]),
        ("__ <` NN", ["NP"]),
        ("__ <<` NN", ["NP"]),
        ("NN >>` __", ["NN"]),
        ("__ $.. VP", ["NP"]),
        ("__ $,, VP", ["."]),
        ("__ $. NN", ["DT"]),
        ("__ $, VP", ["."]),
    ],
)
def test_synonyms_and_numbers_of_children(pattern, labels):
    tree = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBD sat)) (. .))")
    assert [getattr(match.node, "label", match.node) for match in tree.search(pattern)] == labels
    assert all(relation in RELATIONS for relation, _ in SYNONYMS.values())
