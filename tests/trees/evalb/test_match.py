from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf import Tree
from treecrf.trees.evalb import COLLINS, Rules, Status
from treecrf.trees.evalb.brackets import read_brackets, tree_brackets
from treecrf.trees.evalb.match import BracketCounts, Matcher
from trees.evalb.pairs import evalb_spans, evalb_tags, evalb_words, pairs, trees

PLAIN = Rules()
QUOTES = replace(COLLINS, quote_labels=frozenset({"''", "POS"}))


def match(gold, predicted, rules=COLLINS):
    return Matcher(rules).compare(read_brackets(gold), read_brackets(predicted))


def live_spans(tree, rules):
    """The brackets that count, straight from the definition."""
    kept = [tag not in rules.delete_labels for tag in evalb_tags(tree)]
    spans = []
    for start, end, label in evalb_spans(tree):
        label = label.split("-")[0].split("=")[0]
        if any(kept[start:end]) and label not in rules.delete_labels:
            spans.append((sum(kept[:start]), sum(kept[:end]), label))
    return spans


@given(pairs(), st.sampled_from([PLAIN, replace(COLLINS, equal_labels=frozenset())]))
def test_counts_follow_their_definitions(pair, rules):
    result = Matcher(rules).compare(*map(tree_brackets, pair))
    gold, predicted = (live_spans(tree, rules) for tree in pair)
    tags = [tag for tag in evalb_tags(pair[0]) if tag not in rules.delete_labels]
    crossing = sum(any(a < c < b < d or c < a < d < b for a, b, _ in gold) for c, d, _ in predicted)
    matched = (Counter(gold) & Counter(predicted)).total()
    unlabeled = (Counter(span[:2] for span in gold) & Counter(span[:2] for span in predicted)).total()
    if tags:
        assert result.counts == BracketCounts(
            len(gold), len(predicted), matched, unlabeled, crossing, len(tags), len(tags)
        )
    assert result.status == (Status.VALID if tags else Status.SKIP)


@given(pairs())
def test_unlabeled_rules_ignore_labels(pair):
    labeled = Matcher(COLLINS).compare(*map(tree_brackets, pair)).counts
    unlabeled = Matcher(replace(COLLINS, labeled=False)).compare(*map(tree_brackets, pair)).counts
    assert unlabeled == labeled._replace(matched=labeled.unlabeled)


@given(pairs())
def test_swapping_the_trees_swaps_the_counts(pair):
    one = Matcher(PLAIN).compare(*map(tree_brackets, pair)).counts
    other = Matcher(PLAIN).compare(*map(tree_brackets, reversed(pair))).counts
    assert one._replace(crossing=0) == other._replace(gold=other.predicted, predicted=other.gold, crossing=0)


@given(trees())
def test_a_tree_is_equal_to_itself(tree):
    result = Matcher(COLLINS).compare(tree_brackets(tree), tree_brackets(tree))
    counts = result.counts
    assert counts.gold == counts.predicted == counts.matched == counts.unlabeled
    assert counts.words == counts.tags
    assert counts.crossing == 0
    assert not result.faults


@given(trees(), trees())
def test_different_words_are_an_error(gold, predicted):
    result = Matcher(PLAIN).compare(tree_brackets(gold), tree_brackets(predicted))
    assert (result.status == Status.VALID) == (evalb_words(gold) == evalb_words(predicted))


@given(trees())
def test_a_prediction_without_words_is_skipped(gold):
    assert Matcher(COLLINS).compare(tree_brackets(gold), tree_brackets(None)).status == Status.SKIP


@given(trees())
def test_length_excludes_the_tags_in_the_rules(tree):
    assert Matcher(PLAIN).length(tree_brackets(tree)) == len(evalb_words(tree))
    assert Matcher(COLLINS).length(tree_brackets(tree)) == len(tree.words)


@pytest.mark.parametrize(
    ("gold", "predicted", "matched"),
    [
        ("(A (B (W w)))", "(B (A (W w)))", 2),  # each by its own label
        ("(A (C (W w)))", "(B (B (W w)))", 2),  # A = B, B = C
        ("(A (W w))", "(C (W w))", 0),  # equality does not chain
        ("(B (A (W w)))", "(A (C (W w)))", 1),  # the first that fits is taken, though C would leave more
        ("(A (A (A (W w))))", "(A (A (W w)))", 2),
    ],
)
def test_equal_labels_match_in_order(gold, predicted, matched):
    rules = Rules(equal_labels={("A", "B"), ("C", "B")})
    assert match(gold, predicted, rules).counts.matched == matched


def test_a_bracket_equal_to_a_deleted_label_is_deleted_but_a_word_is_not():
    rules = Rules(delete_labels={"TOP"}, equal_labels={("TOP", "ROOT")})
    counts = match("(ROOT (S (ROOT w)))", "(TOP (S (ROOT w)))", rules).counts
    assert (counts.gold, counts.predicted, counts.words) == (1, 1, 1)


def test_a_match_lists_the_labels_of_both_trees():
    result = match("(S (ADVP (W w)))", "(S (PRT (W w)))")
    assert (result.recalled, result.correct) == (["S", "ADVP"], ["S", "PRT"])


def test_a_deleted_quotation_mark_is_reinserted_if_the_other_tree_has_it():
    gold = "(S (NP (N a) ('' ')) (VP (V b)))"
    predicted = "(S (NP (N a)) (VP (POS ') (V b)))"
    assert match(gold, predicted).faults == ("Length unmatch (2|3)",)
    restored = match(gold, predicted, QUOTES)
    assert restored.status == Status.VALID
    assert restored.counts == BracketCounts(gold=3, predicted=3, matched=1, unlabeled=1, crossing=1, words=3, tags=2)


@pytest.mark.parametrize("swap", [False, True])
def test_several_quotation_marks_are_reinserted_in_place(swap):
    lines = [
        "(S ('' ') (NP (N a) ('' ')) (VP (V b) ('' \") (N c)))",
        "(S (POS ') (NP (N a) (POS ')) (VP (V b) (POS \") (N c)))",
    ]
    gold, predicted = reversed(lines) if swap else lines
    assert match(gold, predicted, QUOTES).counts == BracketCounts(3, 3, 3, 3, 0, words=6, tags=3)


def test_equal_lengths_leave_quotation_marks_deleted():
    gold, predicted = "(S ('' ') (N a) (POS '))", "(S (POS ') (N a) ('' '))"
    assert match(gold, predicted, QUOTES).faults == ("Words unmatch (a|')",)


def test_a_malformed_sentence_is_an_error_with_counts():
    result = match("(S (NP (N a)) (V b))", "(S (NP (N a)) (V b)")
    assert result.status == Status.ERROR
    assert result.counts == BracketCounts(gold=2, predicted=2, matched=1, unlabeled=1, crossing=0, words=2, tags=2)


def test_long_trees_are_compared_quickly():
    words = 10_000
    leaves = [Tree("N", (str(number),)) for number in range(words)]
    right, left = leaves[-1], leaves[0]
    for number in range(1, words):
        right = Tree("R", (leaves[words - 1 - number], right))
        left = Tree("L", (left, leaves[number]))
    counts = Matcher(PLAIN).compare(tree_brackets(right), tree_brackets(left)).counts
    assert counts == BracketCounts(words - 1, words - 1, 0, 1, words - 2, words, words)


def test_a_status_has_the_number_of_evalb():
    assert [status.value for status in (Status.VALID, Status.ERROR, Status.SKIP)] == [0, 1, 2]


@given(trees())
def test_brackets_of_a_tree_are_those_that_count(tree):
    brackets = Matcher(COLLINS).brackets(tree_brackets(tree))
    assert Counter(tuple(span) for span in brackets) == Counter(live_spans(tree, COLLINS))
