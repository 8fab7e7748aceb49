"""Well-formedness: each violation is found where it is, and gold trees have few."""

from pathlib import Path

import pytest

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.well_formed import (
    VIOLATION_NAMES,
    compare_well_formedness,
    count_productions,
    measure_well_formedness,
    productions,
    productions_to_text,
    violations,
)

SHARED = Path(__file__).parents[4] / "shared" / "treebanks"
FINITE, AUXILIARY, OPENER, TWO_PPS = VIOLATION_NAMES


@pytest.mark.parametrize(
    ("brackets", "names"),
    [
        ("(S (NP (PRP He)) (VBD left))", [FINITE]),
        ("(NP (NP (NN man)) (MD will))", [FINITE]),
        ("(PP (IN of) (VBZ is))", [FINITE]),
        ("(S (NP (PRP He)) (VP (VBD left)))", []),
        ("(SQ (VBD did) (NP (PRP he)) (VP (VB go)))", []),
        ("(SINV (VBD said) (NP (NNP Ann)))", []),
        ("(VP (MD will) (VB go))", [AUXILIARY]),
        ("(VP (VBZ is) (ADVP (RB now)) (VBG going))", [AUXILIARY]),
        ("(VP (VBP 've) (VBN seen) (NP (PRP it)))", [AUXILIARY]),
        ("(VP (TO to) (VB go))", [AUXILIARY]),
        ("(VP (VBD did) (RB n't) (VB go))", [AUXILIARY]),
        ("(VP (MD will) (VP (VB go)))", []),
        ("(VP (VBD came) (CC and) (VBD saw))", []),
        ("(VP (MD can) (CC and) (MD will) (VP (VB go)))", []),
        ("(VP (VBD was) (CC or) (VBN broken))", []),
        ("(S (IN that) (NP (PRP he)) (VP (VBD left)))", [OPENER]),
        ("(S (WHNP (WP who)) (VP (VBD left)))", [OPENER]),
        ("(SBAR (IN that) (S (NP (PRP he)) (VP (VBD left))))", []),
        ("(PP (PP (IN with) (NP (NN x))) (PP (IN in) (NP (NN y))))", [TWO_PPS]),
        ("(PP (PP (IN From) (NP (CD 9))) (PP (TO to) (NP (CD 5))))", []),
        ("(PP (PP (IN from) (NP (NN x))) (PP (IN in) (NP (NN y))))", [TWO_PPS]),
        ("(PP (PP (IN with) (NP (NN x))) (PP (TO to) (NP (NN y))))", [TWO_PPS]),
        ("(PP (PP (IN with) (NP (NN x))) (CC and) (PP (IN in) (NP (NN y))))", []),
    ],
)
def test_a_violation_is_found_where_it_is(brackets, names):
    tree = Tree.parse(f"(TOP {brackets})")
    assert [violation.name for violation in violations(tree)] == names
    assert all(violation.node == tree.child_trees[0] for violation in violations(tree))


def test_productions_are_those_of_the_constituents():
    tree = Tree.parse("(TOP (S (NP (PRP We)) (VP (VBP parse))))")
    assert list(productions(tree)) == [("TOP", "S"), ("S", "NP", "VP"), ("NP", "PRP"), ("VP", "VBP")]


def test_counts_are_per_tree_and_shares_are_of_all_trees():
    bad = Tree.parse("(TOP (S (NP (PRP He)) (VBD left) (VBD went)))")
    good = Tree.parse("(TOP (S (NP (PRP He)) (VP (VBD left))))")
    counts = measure_well_formedness([bad, good, good, good], set(productions(good)))
    assert (counts.trees, counts.ill_formed, counts.ill_formed_share) == (4, 1, 0.25)
    assert counts.by_name == {FINITE: 1}
    assert (counts.productions, counts.unseen_productions, counts.trees_with_unseen) == (15, 1, 1)
    assert measure_well_formedness([]).ill_formed_share == 0.0


@pytest.mark.skipif(not SHARED.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize(("name", "low", "high"), [("ptb_sample", 0.0, 0.001), ("masc", 0.0, 0.02), ("mctb", 0.1, 0.2)])
def test_gold_trees_have_the_shares_that_annotators_report(name, low, high):
    assert low <= measure_well_formedness(read_trees(SHARED / name / "test.mrg.gz")).ill_formed_share <= high


def test_trees_with_other_tags_have_unseen_productions_and_no_violations():
    gold = [Tree.parse("(S (VBP dilihat) (PP (PP (PPO di) (NNO rumah)) (PP (PPO pada) (NNO malam))))")]  # tags of ICON
    predicted = [Tree.parse("(S (VBP dilihat) (PP (PPO di) (NNO rumah) (PPO pada) (NNO malam)))")]
    known = count_productions(gold)
    assert ("PP", "PP", "PP") in known
    comparison = compare_well_formedness(gold, predicted, known)
    assert comparison is not None and not comparison.has_penn_tags
    assert comparison.gold.unseen_productions == 0 < comparison.predicted.unseen_productions
    assert "Ill-formed" not in comparison.text() and "Unseen productions" in comparison.text()
    assert "ill_formed" not in comparison.as_dict()["gold"]
    assert compare_well_formedness(gold, predicted) is None


def test_words_are_no_symbols():
    tree = Tree.parse("(TOP (S (NP (NN cat)) (VP (VBD slept))))")
    assert list(productions(tree)) == [("TOP", "S"), ("S", "NP", "VP"), ("NP", "NN"), ("VP", "VBD")]


def test_frequent_productions_come_first():
    text = productions_to_text({("B", "b"): 1, ("A", "a"): 1, ("C", "c d"): 12})
    assert text == "12 C c\\u{20}d\n1 A a\n1 B b\n"
