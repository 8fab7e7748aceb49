from random import Random

import pytest

from treecrf.trees.search import (
    CHINESE,
    COLLINS,
    Forest,
    Pattern,
    compiled,
    head_positions,
    heads,
)
from treecrf.trees.tree import Tree
from trees.search.random_trees import random_tree


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("(NP (DT the) (JJ old) (NN cat))", 2),
        ("(NP (NP (NN cat)) (PP (IN of) (NP (NNP Kim))))", 0),
        ("(NP (NNP Kim) (POS 's))", 1),
        ("(NP (NP (NN cat)) (CC and) (NP (NN dog)))", 0),
        ("(NP (DT a) (CD 1))", 1),  # no noun: the later rules decide
        ("(VP (MD will) (VP (VB go)))", 0),
        ("(VP (TO to) (VP (VB go)))", 0),
        ("(S (NP (PRP we)) (VP (VBP go)) (. .))", 1),
        ("(SBAR (WHNP (WP who)) (S (VP (VBD went))))", 0),
        ("(PP (IN of) (NP (NN time)))", 0),
        ("(ADVP (RB so) (RB far))", 1),
        ("(UCP (NP (NN a)) (CC and) (ADJP (JJ b)))", 2),  # no category matches: coordination changes nothing
        ("(WHADVP (WRB how) (CC and) (WRB why))", 1),  # the rule prefers the conjunction
        ("(PP (IN in) (CC and) (IN out))", 0),  # the first conjunct
        ("(PP (, ,) (CC and) (IN out))", 2),  # but not punctuation
        ("(UNKNOWN (A a) (B b))", 0),
        ("(NP-SBJ (DT the) (NN cat))", 1),
    ],
)
def test_heads_follow_the_rules_of_collins(text, head):
    tree = Tree.parse(text)
    labels = [child.label for child in tree.child_trees]
    assert COLLINS.head_child(tree.label, labels, [child.is_leaf for child in tree.child_trees]) == head


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("(NP (DNP (NP (NN 中国)) (DEG 的)) (NP (NN 经济)))", 2),
        ("(IP (NP (PN 我)) (VP (VV 看) (NP (NN 书))))", 1),
        ("(PP (P 在) (NP (NR 北京)))", 0),
        ("(LCP (NP (NN 桌子)) (LC 上))", 1),
        ("(VP (ADVP (AD 很)) (VP (VA 好)))", 1),
    ],
)
def test_heads_of_chinese_constituents(text, head):
    assert head_positions(Tree.parse(text), CHINESE)[0] == head


def test_a_forest_has_the_heads_of_its_rules():
    tree = Tree.parse("(NP (NP (NN 中国)) (NP (NN 经济)))")
    assert Pattern("NP <# (NP < (NN < 中国))").count(Forest(tree)).matches == 1
    assert Pattern("NP <# (NP < (NN < 中国))").count(Forest(tree, head_rules=CHINESE)).matches == 0


def test_head_positions_are_word_numbers_of_every_node():
    tree = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (PRP me))))")
    expected = {"S": 2, "VP": 2, "DT": 0, "NN": 1, "VBD": 2, "PRP": 3}
    positions = list(zip((node.label for node in tree.walk()), head_positions(tree), strict=True))
    assert [(label, position) for label, position in positions if label != "NP"] == [
        (label, expected[label]) for label, _ in positions if label != "NP"
    ]
    assert [position for label, position in positions if label == "NP"] == [1, 3]


needs_c = pytest.mark.skipif(not compiled.matcher, reason="treecrf was installed without its C code")


@needs_c
@pytest.mark.parametrize("rules", [COLLINS, CHINESE], ids=["collins", "chinese"])
def test_compiled_code_finds_the_heads_of_the_definition(rules):
    trees = [random_tree(Random(seed)) for seed in range(300)]
    flat = Forest([*trees, Tree.parse("(NP (NP (NN a)) (, ,) (CC and) (NP (NN b)))")])
    labels = [flat.labels[index] for index in flat.label_ids.tolist()]
    found = heads.find_heads(*flat.columns[:2], flat.labels, rules)
    assert found == heads.find_heads_in_python(labels, flat.ends.tolist(), rules)
