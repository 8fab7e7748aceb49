"""The most probable readings against the enumeration of all trees."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from parser.decoding.analyses import analyze, constrain, few_derivations, few_scores, readings, satisfies
from parser.decoding.label_grammars import COUNTS, TAGS, make_label_grammar, productions_log_prob
from parser.decoding.label_grammars import LABELS as GRAMMAR_LABELS
from parser.decoding.random_scores import LABELS, REPEATED, derivations, random_scores, tree_probabilities
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.parser.decoding.tree_search import find_readings, fit_words
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, from_spans, repeating_labels, unary_chain

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

    stopped, exact = analyze(scores, k=20, should_stop=should_stop), analyze(scores, k=20)
    assert exact.alternatives_exact and not stopped.alternatives_exact and len(calls) == 3
    probabilities = {alternative.tree: alternative.probability for alternative in exact.alternatives}
    assert [probabilities[other.tree] for other in stopped.alternatives] == [
        other.probability for other in stopped.alternatives
    ]


def test_a_search_that_reaches_its_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = random_scores([14], labels=len(LABELS), seed=8)
    monkeypatch.setattr("treecrf.parser.decoding.tree_search._TREES_PER_READING", 0.5)
    limited = analyze(scores, k=8)
    assert not limited.alternatives_exact and 0 < len(limited.alternatives) < 8


def test_a_reading_with_the_last_ranked_label_may_not_be_exact() -> None:
    labels = (*(f"X{number}" for number in range(14)), "(S)")
    scores = random_scores([2], labels=len(labels), scale=0.5)
    assert analyze(scores, labels=LabelSet(labels), k=5).alternatives_exact
    assert not analyze(scores, labels=LabelSet(labels), k=12).alternatives_exact


def test_label_scores_in_blocks_give_the_same_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = Constraints(require=[(3, 7, "NP")], forbid=[(0, 1), (0, 2, "NP")])
    scores = constrain(random_scores([12], labels=len(LABELS), seed=6), constraint)
    whole = analyze(scores, k=8)
    monkeypatch.setattr("treecrf.parser.decoding.tree_distribution._BLOCK", 5)
    assert analyze(scores, k=8) == whole
    assert all(satisfies(alternative.tree, constraint) for alternative in whole.alternatives)


def test_excluded_labels_are_in_no_alternative_and_count_for_its_reading() -> None:
    labels, scores = LabelSet(REPEATED), few_scores("two-stage", 3, REPEATED)
    log_probs = tree_probabilities(few_derivations("two-stage", 3, REPEATED))
    analysis = analyze(scores, labels=labels, k=40, excluded=repeating_labels(labels))
    assert not any(is_repeating(alternative.tree) for alternative in analysis.alternatives)
    assert sum(alternative.probability for alternative in analysis.alternatives) == pytest.approx(
        sum(map(math.exp, log_probs.values())), abs=1e-5
    )


def is_repeating(tree: Tree) -> bool:
    nodes = [node for node in tree.walk() if len(node.child_trees) == 1]
    return any(node.label == node.child_trees[0].label for node in nodes)


@pytest.mark.parametrize("seed", range(8))
def test_a_grammar_chooses_the_constituents_over_single_words(seed: int) -> None:
    scores = random_scores([3], labels=len(GRAMMAR_LABELS), tags=len(TAGS), seed=seed, scale=2.0)
    distribution = TreeDistribution(scores=scores, labels=LabelSet(GRAMMAR_LABELS), root="TOP", choices=10)
    grammar = make_label_grammar(Grammar(COUNTS), 0.02)
    tags = np.array([0, 1, 2])
    leaves = [Tree(TAGS[tag], (f"w{word}",)) for word, tag in enumerate(tags)]
    found = find_readings(distribution, 0, 5).readings
    for reading, fitted in zip(found, fit_words(found, distribution, 0, grammar, tags), strict=True):
        phrases = [(position, label) for position, label in reading.tree if position[1] - position[0] > 1]
        assert [item for item in sorted(fitted.tree) if item[0][1] - item[0][0] > 1] == phrases
        assert fitted.log_prob == reading.log_prob

        def value(words: Sequence[int | None], phrases: list = phrases) -> float:
            """The log-odds of the labels of words, and the log-probability of the tree's productions."""
            chosen = [((word, word + 1), label) for word, label in enumerate(words) if label is not None]
            spans = [Span(*position, GRAMMAR_LABELS[label]) for position, label in [*phrases, *chosen]]
            odds = 0.0
            for (start, end), label in chosen:
                cells = distribution.cells(0, np.array([start]), np.array([end]))
                odds += distribution.potentials(cells)[0, label] - distribution.free[0, start, end]
            return odds + productions_log_prob(Grammar(COUNTS), from_spans(spans, leaves))

        of_word = {position[0]: label for position, label in fitted.tree if position[1] - position[0] == 1}
        choices = [None, *(number for number, label in enumerate(GRAMMAR_LABELS) if unary_chain(label))]
        best = max(map(value, product(choices, repeat=3)))
        assert value([of_word.get(word) for word in range(3)]) == pytest.approx(best, abs=1e-3)
