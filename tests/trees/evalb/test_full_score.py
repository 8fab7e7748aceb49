"""Hand-counted cases: each count is (gold, predicted, correct)."""

import pytest

from treecrf.trees.evalb.full_score import score_full_trees
from treecrf.trees.evalb.rules import SPMRL
from treecrf.trees.tree import Tree

GOLD = (
    "(TOP (S (NP-SBJ-1 (DT The) (NN vote)) (, ,) (VP (VBD was) (VP (VBN held) (NP (-NONE- *-1)) "
    "(PP-LOC-CLR (IN in) (NP (NNP Rome))) (NP-TMP (NNP May)))) (. .)))"
)
# another attachment, LOC instead of LOC and CLR, no TMP, a wrong PRD, no index, an added trace
PREDICTED = (
    "(TOP (S (NP-SBJ (DT The) (NN vote)) (, ,) (VP (VBD was) (VP (VBN held) (NP (-NONE- *)) (PP-LOC (IN in) "
    "(NP (NNP Rome))) (NP-PRD (NNP May) (NP (-NONE- *T*-3))))) (. .)))"
)


def counts(gold, predicted, measure, name=None, **options):
    score = score_full_trees([Tree.parse(gold)], [Tree.parse(predicted)], **options)
    row = score.by_name[measure][name] if name else score.total(measure)
    assert row.recalled == row.correct
    return row.gold, row.predicted, row.correct


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("constituents", (7, 7, 7)),
        ("functions", (4, 3, 2)),
        ("functions_of_all", (4, 3, 2)),
        ("subjects", (1, 1, 1)),
        ("empties", (1, 2, 1)),
        ("empties_in_phrases", (1, 2, 1)),
        ("empties_with_antecedents", (1, 2, 0)),
    ],
)
def test_hand_counted_sentence(measure, expected):
    assert counts(GOLD, PREDICTED, measure) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("SBJ", (1, 1, 1)), ("LOC", (1, 1, 1)), ("CLR", (1, 0, 0)), ("PRD", (0, 1, 0))]
)
def test_functions_are_counted_one_by_one(name, expected):
    assert counts(GOLD, PREDICTED, "functions", name) == expected


def test_the_most_frequent_names_come_first():
    tree = Tree.parse("(S (NP-SBJ (PRP We)) (VP (VBD left) (NP-TMP (NN today)) (NP-LOC (NN home)) (NP-TMP (RB now))))")
    assert list(score_full_trees([tree], [tree]).by_name["functions"]) == ["TMP", "LOC", "SBJ"]


def test_functions_of_wrong_constituents_count_only_over_all():
    gold = "(S (NP-SBJ (PRP We)) (VP (VBD saw) (NP (NN art)) (PP-LOC (IN in) (NP (NNP Rome)))))"
    predicted = "(S (NP-SBJ (PRP We)) (VP (VBD saw) (NP-LOC (NN art) (PP (IN in) (NP (NNP Rome))))))"
    assert counts(gold, predicted, "functions") == (2, 1, 1)
    assert counts(gold, predicted, "functions_of_all") == (2, 2, 1)
    assert counts(gold, predicted, "constituents") == (6, 6, 5)


def test_punctuation_does_not_part_constituents():
    gold = "(S (NP-SBJ (PRP We) (, ,)) (VP (VBD left)))"
    predicted = "(S (NP-SBJ (PRP We)) (, ,) (VP (VBD left)))"
    assert counts(gold, predicted, "functions") == counts(gold, predicted, "subjects") == (1, 1, 1)
    assert counts(gold, predicted, "subjects", rules=SPMRL) == (1, 1, 0)


def test_subjects_may_have_another_category_but_need_words():
    gold = "(S (S-NOM-SBJ (NP-SBJ (-NONE- *)) (VP (VBG Running))) (VP (VBZ helps)))"
    predicted = "(S (NP-SBJ (VBG Running)) (VP (VBZ helps)))"
    assert counts(gold, predicted, "subjects") == (1, 1, 1)
    assert counts(gold, predicted, "functions_of_all") == (2, 1, 0)  # NOM and SBJ of S, SBJ of NP


def test_constituents_over_the_same_words_are_paired_from_the_top():
    gold = "(S-TPC (S-HLN (VP (VB Go))))"
    assert counts(gold, "(S-TPC (S-HLN (VP (VB Go))))", "functions") == (2, 2, 2)
    assert counts(gold, "(S-HLN (S-TPC (VP (VB Go))))", "functions") == (2, 2, 0)
    assert counts(gold, "(S-HLN (VP (VB Go)))", "functions") == (1, 1, 0)
    assert counts(gold, "(S-HLN (VP (VB Go)))", "functions_of_all") == (2, 1, 0)


def test_empty_elements_need_kind_and_position():
    gold = "(S (NP-SBJ (-NONE- *)) (VP (VB Go) (NP (-NONE- *T*-1)) (ADVP (RB on)) (NP (-NONE- *)) (NP (-NONE- *))))"
    predicted = "(S (VP (VB Go) (ADVP (-NONE- *T*-1)) (ADVP (-NONE- *) (RB on)) (NP (-NONE- *))))"
    assert counts(gold, predicted, "empties") == (4, 3, 2)
    assert counts(gold, predicted, "empties_in_phrases") == (4, 3, 1)


def test_antecedents_are_compared_by_category_and_words():
    gold = "(NP (NP (NN art)) (SBAR (WHNP-1 (-NONE- 0)) (S (NP-SBJ (PRP we)) (VP (VBP like) (NP (-NONE- *T*-1))))))"
    assert counts(gold, gold.replace("-1", "-7"), "empties_with_antecedents") == (2, 2, 2)
    assert counts(gold, gold.replace("WHNP", "WHADVP"), "empties_with_antecedents") == (2, 2, 1)
    moved = gold.replace("WHNP-1", "WHNP").replace("NP (NN art)", "NP-1 (NN art)")
    assert counts(gold, moved, "empties_with_antecedents") == (2, 2, 1)


def test_pro_can_be_counted_as_star():
    gold, predicted = "(S (NP-SBJ (-NONE- *PRO*)) (VP (VB Go)))", "(S (NP-SBJ (-NONE- *)) (VP (VB Go)))"
    assert counts(gold, predicted, "empties") == (1, 1, 0)
    assert counts(gold, predicted, "empties", merge_pro=True) == (1, 1, 1)


def test_trees_of_other_words_are_refused():
    with pytest.raises(ValueError, match="sentence 1 have different words: 'a' and 'b'"):
        score_full_trees([Tree.parse("(NP (NN a))")], [Tree.parse("(NP (NN b))")])
    with pytest.raises(ValueError, match="1 gold trees, but 0 predicted"):
        score_full_trees([Tree.parse("(NP (NN a))")], [])


def test_percentages_come_from_sums_over_sentences():
    trees = [Tree.parse(GOLD), Tree.parse(PREDICTED)]
    total = score_full_trees(trees, [trees[0], trees[0]]).total("functions")
    assert (total.gold, total.predicted, total.correct) == (7, 8, 6)
    assert total.recall == pytest.approx(100 * 6 / 7)
    assert total.precision == 75.0
