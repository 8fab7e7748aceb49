"""The most probable readings against the enumeration of all trees."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from unittest import mock

import numpy as np
import pytest

from parser.decoding.analyses import analyze, constrain, few_scores, readings, satisfies
from parser.decoding.attachment_rules import reading
from parser.decoding.label_grammars import COUNTS, TAGS, make_label_grammar, productions_log_prob
from parser.decoding.label_grammars import LABELS as GRAMMAR_LABELS
from parser.decoding.random_scores import LABELS, REPEATED, derivations, random_scores, tree_probabilities
from treecrf.parser.decoding import tree_search
from treecrf.parser.decoding.attachments import Attachments
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.decoding.expected_f1 import TAG_WEIGHT
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.parser.decoding.tree_search import _GRAMMAR_ORDER, Reading, _Enumeration, find_readings, fit_words
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, from_spans, unary_chain

WORDS = {"attachments": Attachments(GRAMMAR_LABELS, TAGS, "en"), "tags": TAGS[:2]}
CHAINS = ("S", "VP", "S VP", "(S)")


@pytest.mark.parametrize("labels", [("S NP", "(NP)"), ("NP NP", "NP", "")])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_all_readings_of_four_words_equal_enumeration(labels: tuple[str, ...], scale: float) -> None:
    scores = random_scores([4], labels=len(labels), scale=scale)
    log_probs = tree_probabilities(derivations(scores, labels))
    expected = dict(readings(log_probs))
    analysis = analyze(scores, labels=LabelSet(labels), k=len(expected) + 1)
    assert analysis.alternatives_exact
    found = {alternative.tree: alternative.probability for alternative in analysis.alternatives}
    assert found == pytest.approx(expected, abs=1e-6)
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_readings_are_exact(seed: int) -> None:
    scores = random_scores([3], labels=len(CHAINS), scale=3.0, seed=seed)
    expected = readings(tree_probabilities(derivations(scores, CHAINS)))[:6]
    analysis = analyze(scores, labels=LabelSet(CHAINS), k=6)
    assert analysis.alternatives_exact
    found = {alternative.tree: alternative.probability for alternative in analysis.alternatives}
    assert found == pytest.approx(dict(expected), abs=1e-6)


def test_a_sentence_of_one_word_has_one_reading() -> None:
    scores = random_scores([1], labels=len(LABELS))
    (alternative,) = analyze(scores, k=5).alternatives
    assert alternative.probability == pytest.approx(1)
    assert alternative.tree == next(iter(tree_probabilities(derivations(scores, LABELS))))


@pytest.mark.parametrize("k", [1, 7])
def test_a_search_that_is_stopped_says_so(k: int) -> None:
    scores = random_scores([14], labels=len(LABELS), seed=8)
    calls: list[int] = []

    def should_stop() -> bool:
        calls.append(1)
        return len(calls) > 2

    stopped, exact = (analyze(scores, k=20, trees_per_reading=(12,), should_stop=stop) for stop in (should_stop, None))
    assert exact.alternatives_exact and not stopped.alternatives_exact and len(calls) == 3
    assert {other.tree for other in stopped.alternatives} <= {other.tree for other in exact.alternatives}


@pytest.mark.parametrize("k", [1, 2])
def test_a_search_is_exact_if_it_is_stopped_after_enough_readings(k: int) -> None:
    analysis = analyze(random_scores([14], labels=len(LABELS), seed=8), k=k, should_stop=lambda: True)
    assert len(analysis.alternatives) == 1 and analysis.alternatives_exact == (k == 1)


def test_a_search_that_reaches_its_limit_says_so() -> None:
    limited = analyze(random_scores([14], labels=len(LABELS), seed=8), k=8, trees_per_reading=(0.5,))
    assert not limited.alternatives_exact and 0 < len(limited.alternatives) < 8


def test_a_reading_with_the_last_ranked_label_may_not_be_exact() -> None:
    labels = (*(f"X{number}" for number in range(14)), "(S)")
    scores = random_scores([2], labels=len(labels), scale=0.5)
    assert analyze(scores, labels=LabelSet(labels), k=1).alternatives_exact
    assert not analyze(scores, labels=LabelSet(labels), k=12).alternatives_exact


def test_label_scores_in_blocks_give_the_same_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = Constraints(require=[(3, 7, "NP")], forbid=[(0, 1), (0, 2, "NP")])
    scores = constrain(random_scores([12], labels=len(LABELS), seed=6), constraint)
    whole = analyze(scores, k=8, trees_per_reading=(12,))
    monkeypatch.setattr("treecrf.parser.decoding.tree_distribution._BLOCK", 5)
    assert analyze(scores, k=8, trees_per_reading=(12,)) == whole
    assert all(satisfies(alternative.tree, constraint) for alternative in whole.alternatives)


def test_excluded_labels_are_in_no_alternative() -> None:
    labels, scores = LabelSet(REPEATED), few_scores("two-stage", 3, REPEATED)
    analysis = analyze(scores, labels=labels, k=40, excluded=labels.repeating)
    assert analysis.alternatives
    assert not any(is_repeating(alternative.tree) for alternative in analysis.alternatives)


def is_repeating(tree: Tree) -> bool:
    nodes = [node for node in tree.walk() if len(node.child_trees) == 1]
    return any(node.label == node.child_trees[0].label for node in nodes)


@pytest.mark.parametrize("seed", range(4))
def test_a_grammar_chooses_the_tags_and_the_constituents_over_single_words(seed: int) -> None:
    scores = random_scores([2], labels=len(GRAMMAR_LABELS), tags=len(TAGS), seed=seed, scale=2.0)
    distribution = TreeDistribution(scores=scores, labels=LabelSet(GRAMMAR_LABELS), root="TOP", choices=10)
    grammar = make_label_grammar(Grammar(COUNTS), 0.02)
    assert scores.tags is not None
    odds = scores.tags[0] - scores.tags[0].max(-1, keepdims=True)
    excess = grammar.tag_log_probs - grammar.tag_log_probs[scores.tags[0].argmax(-1)][:, None]
    found = find_readings(distribution, 0, 5, **WORDS).readings
    fit = fit_words(found, distribution, 0, grammar)
    for each, fitted, support in zip(found, map(fit.reading, range(len(found))), fit.support, strict=True):
        phrases = [(position, label) for position, label in each.tree if position[1] - position[0] > 1]
        assert [item for item in sorted(fitted.tree) if item[0][1] - item[0][0] > 1] == phrases
        assert fitted.log_prob == each.log_prob

        def value(words: Sequence[int | None], tags: Sequence[int], phrases: list = phrases) -> float:
            """The log-odds of the labels and tags of words, and the log-probability of the tree's productions."""
            chosen = [((word, word + 1), label) for word, label in enumerate(words) if label is not None]
            spans = [Span(*position, GRAMMAR_LABELS[label]) for position, label in [*phrases, *chosen]]
            total = sum(TAG_WEIGHT * odds[word, tag] - excess[word, tag] for word, tag in enumerate(tags))
            for (start, end), label in chosen:
                cells = distribution.cells(0, np.array([start]), np.array([end]))
                total += distribution.potentials(cells)[0, label] - distribution.free[0, start, end]
            leaves = [Tree(TAGS[tag], (f"w{word}",)) for word, tag in enumerate(tags)]
            return total + productions_log_prob(Grammar(COUNTS), from_spans(spans, leaves))

        of_word = {position[0]: label for position, label in fitted.tree if position[1] - position[0] == 1}
        choices = [None, *(number for number, label in enumerate(GRAMMAR_LABELS) if unary_chain(label))]
        best = max(value(words, tags) for words in product(choices, repeat=2) for tags in product(range(3), repeat=2))
        assert value([of_word.get(word) for word in range(2)], fitted.tags) == pytest.approx(best, abs=1e-2)
        assert support == pytest.approx(best, abs=1e-2)


@pytest.mark.parametrize("seed", range(3, 7))
def test_readings_are_ordered_by_probability_and_the_grammar_after_the_most_probable_one(seed: int) -> None:
    scores = random_scores([3], labels=len(GRAMMAR_LABELS), tags=len(TAGS), seed=seed, scale=2.0)
    distribution = TreeDistribution(scores=scores, labels=LabelSet(GRAMMAR_LABELS), root="TOP", choices=10)
    grammar = make_label_grammar(Grammar(COUNTS), 0.02)
    with mock.patch.multiple(tree_search, _TREES_PER_READING=(1000,), _LOG_RATIO=1e9):
        found = find_readings(distribution, 0, 1000, grammar=grammar, **WORDS).readings
    trees = [Reading(tree, score) for tree, score in _Enumeration(distribution, 0, count=1000)]
    fit = fit_words(trees, distribution, 0, grammar)
    groups: dict[object, list[int]] = defaultdict(list)
    for number, fitted in enumerate(map(fit.reading, range(len(trees)))):
        spans = [Span(*position, GRAMMAR_LABELS[label]) for position, label in fitted.tree]
        leaves = [Tree(TAGS[tag], ("w",)) for tag in fitted.tags]
        groups[reading(from_spans(spans, leaves))].append(number)
    log_probs = np.array([tree.log_prob for tree in trees]) - distribution.log_z[0]
    expected = {
        fit.reading(max(numbers, key=lambda n: log_probs[n] + fit.support[n])).tree: numbers
        for numbers in groups.values()
    }
    assert {each.tree for each in found} == expected.keys()
    for each in found:
        assert each.log_prob == pytest.approx(np.logaddexp.reduce(log_probs[expected[each.tree]]), abs=1e-6)
    assert sum(math.exp(each.log_prob) for each in found) == pytest.approx(1)
    order = [
        float(np.logaddexp.reduce((log_probs + _GRAMMAR_ORDER * fit.support)[expected[each.tree]])) for each in found
    ]
    assert found[0].log_prob == max(each.log_prob for each in found) and order[1:] == sorted(order[1:], reverse=True)
