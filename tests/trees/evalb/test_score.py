import math
import random
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from treecrf import Tree
from treecrf.trees.evalb import COLLINS, Accuracy, Rules, Status, evaluate, evaluate_lines
from treecrf.trees.evalb.match import BracketCounts
from treecrf.trees.evalb.score import SentenceScore, summarize
from trees.evalb.pairs import PLAIN_LABELS, TAGS, evalb_spans, evalb_tags, pairs, trees

GOLD = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (NNS mice)))))")
OTHER = Tree.parse("(TOP (S (NP (DT the)) (VP (NP (NN cat)) (VBD saw) (PP (NNS mice)))))")
TREEBANK = Path(__file__).parents[4] / "shared" / "treebanks" / "ptb_sample" / "dev.mrg.gz"


def test_scores_of_a_worked_example():
    score = evaluate([GOLD, GOLD], [GOLD, OTHER])
    # 4 gold brackets each; the second tree has S right, VP, NP, NP, PP wrong, and PP on the span of an NP
    assert score.all.brackets == Accuracy(gold=8, predicted=9, recalled=5, correct=5)
    assert score.all.unlabeled == Accuracy(gold=8, predicted=9, recalled=6, correct=6)
    assert (score.recall, score.precision) == (62.5, 100 * 5 / 9)
    assert score.f1 == pytest.approx(100 * 2 * 5 / (8 + 9))
    assert score.all.complete_match == 50.0
    assert score.all.average_crossing == 0.5
    assert score.all.tagging_accuracy == 100.0
    assert score.labels["NP"] == Accuracy(gold=4, predicted=4, recalled=2, correct=2)
    assert score.labels["PP"] == Accuracy(gold=0, predicted=1, recalled=0, correct=0)


@given(st.lists(trees(), min_size=1, max_size=4))
def test_gold_trees_score_100_percent(gold):
    score = evaluate(gold, gold, rules=Rules())
    assert (
        score.recall == score.precision == score.f1 == score.all.complete_match == score.all.tagging_accuracy == 100.0
    )
    assert score.all.crossing == score.all.errors == score.all.skipped == 0


@given(st.lists(pairs(), max_size=4))
def test_trees_and_lines_score_the_same(samples):
    gold, predicted = [a for a, _ in samples], [b for _, b in samples]
    assert evaluate(gold, predicted) == evaluate_lines(map(str, gold), map(str, predicted))


@given(st.lists(pairs(), min_size=1, max_size=4))
def test_percentages_are_between_0_and_100(samples):
    summary = evaluate(*zip(*samples, strict=True)).all
    shares = [summary.brackets.f1, summary.complete_match, summary.no_crossing, summary.two_or_less_crossing]
    assert all(0 <= share <= 100 for share in [*shares, summary.tagging_accuracy])
    assert summary.no_crossing <= summary.two_or_less_crossing
    assert summary.brackets.f1 <= summary.unlabeled.f1
    assert summary.complete_match <= summary.unlabeled_complete_match


@given(st.lists(pairs(), min_size=1, max_size=6))
def test_counts_by_label_and_by_length_sum_to_the_total(samples):
    score = evaluate(*zip(*samples, strict=True))
    whole = score.all.brackets
    assert whole.gold == sum(accuracy.gold for accuracy in score.labels.values())
    assert whole.recalled == sum(accuracy.recalled for accuracy in score.labels.values())
    assert whole.correct == sum(accuracy.correct for accuracy in score.labels.values())
    assert whole.gold == sum(summary.brackets.gold for summary in score.by_length(2).values())
    assert score.all.sentences == sum(summary.sentences for summary in score.by_length(2).values())


def test_length_groups_include_both_ends():
    trees = [Tree("S", tuple(Tree("N", (str(word),)) for word in range(length))) for length in (1, 10, 11, 20, 21)]
    groups = evaluate(trees, trees).by_length()
    assert {group: summary.sentences for group, summary in groups.items()} == {(1, 10): 2, (11, 20): 2, (21, 30): 1}
    assert list(evaluate(trees, trees).by_length(1)) == [(1, 1), (10, 10), (11, 11), (20, 20), (21, 21)]


def test_a_missing_tree_is_skipped_and_counted():
    score = evaluate([GOLD, GOLD], [None, GOLD])
    assert [sentence.status for sentence in score.sentences] == [Status.SKIP, Status.VALID]
    assert (score.all.skipped, score.all.valid, score.f1) == (1, 1, 100.0)


def test_no_sentences_score_zero():
    score = evaluate([], [])
    assert (score.f1, score.all.complete_match, score.all.average_crossing, score.labels) == (0.0, 0.0, 0.0, {})


def test_the_short_summary_ends_at_the_cutoff():
    trees = [GOLD, Tree.parse("(NP (NN cat))")], [GOLD, None]
    for cutoff, sentences in ((3, 1), (4, 2), (0, 0)):
        assert evaluate(*trees, rules=Rules(cutoff=cutoff)).short.sentences == sentences


def test_unequal_numbers_of_trees_are_an_error():
    with pytest.raises(ValueError, match="2 gold trees, but 1 predicted"):
        evaluate([GOLD, GOLD], [GOLD])


@pytest.mark.parametrize(
    ("gold", "predicted"), [(GOLD, [GOLD]), ([GOLD], str(GOLD)), ([str(GOLD)], [GOLD]), ([GOLD], (None, str(GOLD)))]
)
def test_one_tree_and_brackets_are_errors_with_an_example(gold, predicted):
    with pytest.raises(TypeError, match=r"^the trees are .*; expected two lists of trees, such as evaluate"):
        evaluate(gold, predicted)


@pytest.mark.parametrize(("gold", "predicted", "side"), [(2, 1, "gold"), (1, 2, "test")])
def test_surplus_lines_end_the_scoring_with_a_message(gold, predicted, side):
    score = evaluate_lines([str(GOLD)] * gold, [str(GOLD)] * predicted)
    assert score.all.sentences == 1
    assert score.messages == ((2, f"Number of lines unmatch (too many lines in {side} file)"),)


@pytest.mark.parametrize(("limit", "stop"), [(-5, 1), (-1, 1), (0, 2), (1, 3), (2, None), (None, None)])
def test_scoring_stops_at_the_second_error_after_the_limit(limit, stop):
    wrong = Tree.parse("(TOP (NN cat))")
    score = evaluate([GOLD] * 3, [wrong] * 3, rules=Rules(max_error=limit))
    assert (score.stopped and score.stopped.sentence) == stop
    assert score.all.errors == 3


def test_scoring_stops_at_a_word_outside_brackets():
    lines = [str(GOLD)] * 3
    score = evaluate_lines(lines, [lines[0], "(S (NN cat) dog)", lines[2]], rules=Rules(max_error=100))
    assert score.stopped == (2, "Reading sentence")
    assert (score.all.errors, score.all.valid) == (1, 2)


def has_duplicates(tree):
    spans = evalb_spans(tree)
    return len(set(spans)) < len(spans)


def peer_counts(gold, predicted):
    """PYEVALB's counts. It deletes and trims nothing, and counts equal brackets once."""
    scorer = pytest.importorskip("PYEVALB.scorer")
    parse = pytest.importorskip("PYEVALB.parser").create_from_bracket_string
    result = scorer.Scorer().score_trees(parse(str(gold)), parse(str(predicted)))
    return (
        result.gold_brackets,
        result.test_brackets,
        result.matched_brackets,
        result.cross_brackets,
        result.words,
        result.correct_tags,
    )


def our_counts(gold, predicted):
    counts = evaluate([gold], [predicted], rules=Rules()).sentences[0].counts
    return counts.gold, counts.predicted, counts.matched, counts.crossing, counts.words, counts.tags


@given(pairs(PLAIN_LABELS))
def test_pyevalb_agrees_without_special_rules(pair):
    assume(not any(map(has_duplicates, pair)))
    assert our_counts(*pair) == peer_counts(*pair)


def flatten(tree, generator):
    """The tree with samples constituents dissolved or renamed."""
    if tree.is_leaf:
        return tree
    children = []
    for child in tree.child_trees:
        child = flatten(child, generator)
        dissolved = not child.is_leaf and generator.random() < 0.1
        children += child.child_trees if dissolved else [child]
    label = generator.choice(["NP", "VP", "PP"]) if generator.random() < 0.1 else tree.label
    return Tree(label, tuple(children))


@pytest.mark.skipif(not TREEBANK.exists(), reason="the treebanks are not here")
def test_pyevalb_agrees_on_a_treebank():
    import gzip

    generator = random.Random(1)
    with gzip.open(TREEBANK, "rt", encoding="utf-8") as lines:
        gold = [Tree.parse(line) for line in lines]
    corrupted = [(tree, flatten(tree, generator)) for tree in gold]
    clean = [pair for pair in corrupted if not any(map(has_duplicates, pair))]
    assert len(clean) > 100
    assert [our_counts(*pair) for pair in clean] == [peer_counts(*pair) for pair in clean]


def test_percentages_are_always_finite():
    score = evaluate([GOLD, GOLD], [None, Tree.parse("(NN cat)")], rules=COLLINS)
    assert all(math.isfinite(value) for value in (score.f1, score.recall, score.all.average_crossing))


@given(pairs(), st.data())
def test_gold_tags_give_the_score_of_a_tree_with_these_tags(pair, data):
    gold, predicted = pair
    tags = data.draw(st.lists(TAGS, min_size=len(evalb_tags(gold)), max_size=len(evalb_tags(gold))))
    retagged = retag(predicted, iter(tags))
    score = evaluate([gold], [retagged], use_gold_tags=True)
    assert score.sentences == evaluate([gold], [predicted]).sentences
    assert score.sentences == evaluate_lines([str(gold)], [str(retagged)], use_gold_tags=True).sentences


def retag(tree, tags):
    if isinstance(tree.children[0], str):
        return Tree(next(tags), tree.children)
    return Tree(tree.label, tuple(retag(child, tags) for child in tree.children))


def test_gold_tags_do_not_hide_missing_words():
    assert evaluate([GOLD], [Tree.parse("(TOP (S (NP (DT the) (NN cat))))")], use_gold_tags=True).all.errors == 1


def sentence(*counts, status=Status.VALID):
    return SentenceScore(1, 5, status, BracketCounts(*counts))


def test_recall_precision_and_f1_are_percentages():
    accuracy = Accuracy(gold=8, predicted=5, recalled=4, correct=4)
    assert (accuracy.recall, accuracy.precision) == (50, 80)
    assert accuracy.f1 == pytest.approx(2 * 50 * 80 / 130)
    assert (Accuracy(0, 0, 0, 0).recall, Accuracy(0, 0, 0, 0).f1) == (0, 0)


def test_only_valid_sentences_are_counted():
    rows = [
        sentence(4, 4, 4, 4, 0, 10, 10),
        sentence(4, 4, 2, 4, 2, 10, 5),
        sentence(4, 3, 1, 2, 3, 20, 5),
        sentence(9, 9, 9, 9, 9, 9, 9, status=Status.ERROR),
        sentence(status=Status.SKIP),
    ]
    summary = summarize(rows)
    assert (summary.sentences, summary.errors, summary.skipped, summary.valid) == (5, 1, 1, 3)
    assert summary.brackets == Accuracy(12, 11, 7, 7) and summary.unlabeled == Accuracy(12, 11, 10, 10)
    assert (summary.complete, summary.unlabeled_complete, summary.uncrossed, summary.hardly_crossed) == (1, 2, 1, 2)
    assert summary.complete_match == summary.no_crossing == pytest.approx(100 / 3)
    assert summary.unlabeled_complete_match == summary.two_or_less_crossing == pytest.approx(200 / 3)
    assert summary.average_crossing == pytest.approx(5 / 3) and summary.tagging_accuracy == 50


def test_no_valid_sentence_gives_zeros():
    summary = summarize([sentence(status=Status.SKIP)])
    assert (summary.complete_match, summary.average_crossing, summary.tagging_accuracy) == (0, 0, 0)


def test_a_score_prints_the_table_of_evalb():
    tree = Tree.parse("(S (A a) (B b))")
    assert "Bracketing Recall" in str(evaluate([tree], [tree]))
