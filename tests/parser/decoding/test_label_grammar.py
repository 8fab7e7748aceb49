"""The trees of maximal utility under a grammar against the enumeration of all trees."""

import os
from collections.abc import Iterator
from importlib import import_module
from itertools import combinations, product
from threading import Event

import numpy as np
import pytest

from compiled_calls import run_calls
from parser.decoding.label_grammars import (
    COUNTS,
    LABELS,
    LENGTHS,
    TAGS,
    cross,
    make_label_grammar,
    productions_log_prob,
    random_candidates,
    with_grammar,
)
from parser.decoding.random_scores import random_scores, select_sentence
from treecrf import threads
from treecrf.parser.decoding import decode, label_grammar
from treecrf.parser.decoding.constraints import Constraints, apply_constraints
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.expected_f1 import find_candidates
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.label_grammar import LACK, NO_LABEL, NO_TAG, CandidateSpans, LabelGrammar
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, from_spans
from treecrf.trees.treebank.well_formed import count_productions


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(COUNTS)


def all_trees(candidates: CandidateSpans) -> Iterator[tuple[list[Span], float]]:
    """Every set of candidates that is a tree with the required spans, and the sum of its utilities."""
    length = int(candidates.lengths[0])
    required = {(cell // (length + 1), cell % (length + 1)) for cell in candidates.cells[candidates.required].tolist()}
    choices = [
        (Span(cell // (length + 1), cell % (length + 1), LABELS[label]), float(utility))
        for cell, labels, utilities in zip(
            candidates.cells.tolist(), candidates.labels, candidates.utility, strict=True
        )
        for label, utility in zip(labels.tolist(), utilities.tolist(), strict=True)
        if label != NO_LABEL
    ]
    for count in range(len(choices) + 1):
        for subset in combinations(choices, count):
            spans = [span for span, _ in subset]
            positions = {span[:2] for span in spans}
            if (
                len(positions) < count
                or not required <= positions
                or any(cross(*pair) for pair in combinations(positions, 2))
            ):
                continue
            if candidates.sentence_labels[0] != NO_LABEL or (0, length) in positions:
                yield spans, sum(utility for _, utility in subset)


@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0])
def test_the_tree_has_the_highest_utility_of_all_trees(grammar: Grammar, weight: float) -> None:
    label_grammar_ = make_label_grammar(grammar, weight)
    label_grammar_.needs[[label.endswith("VP") for label in LABELS]] = 1
    label_grammar_.gives[grammar.symbol("VB")] = 1
    generator = np.random.default_rng(1)
    for length in [1, 2, 2, 3, 3, 3, 3, 4, 4]:
        candidates = random_candidates(generator, length)
        utilities: dict[Tree, float] = {}
        for leaves, (spans, utility) in product(all_leaves(candidates), all_trees(candidates)):
            tree = from_spans(spans, [leaf for leaf, _ in leaves])
            total = utility + sum(utility for _, utility in leaves)
            total += weight * productions_log_prob(grammar, tree) - LACK * verbless_phrases(tree)
            utilities[tree] = max(total, utilities.get(tree, total))  # labels with the same chain give the same tree
        for search in (label_grammar_.ranked_trees, label_grammar_.ranked_trees_in_python):
            found, (total,) = search(candidates, all_tags=True)
            names = [LABELS[label] for label in found.labels.tolist()]
            leaves = [Tree(TAGS[tag], (f"w{place}",)) for place, tag in enumerate(found.tags.tolist())]
            tree = from_spans(map(Span, found.starts.tolist(), found.ends.tolist(), names), leaves)
            assert len(names) == 2 * length - 1
            assert utilities[tree] == pytest.approx(max(utilities.values()), abs=1e-9) == total


def verbless_phrases(tree: Tree) -> int:
    """The number of innermost constituents VP without the child VB."""
    phrases = [node for node in tree.walk() if node.label == "VP"]
    return sum("VB" not in [child.label for child in node.child_trees] for node in phrases)


def all_leaves(candidates: CandidateSpans) -> list[tuple[tuple[Tree, float], ...]]:
    """The tags of the words and their utility, in all ways."""
    table = zip(candidates.tags.tolist(), candidates.tag_utility.tolist(), strict=True)
    words = [
        [(Tree(TAGS[tag], (f"w{place}",)), utility) for tag, utility in zip(*word, strict=True) if tag != NO_TAG]
        for place, word in enumerate(table)
    ]
    return list(product(*words))


def test_words_have_their_first_tag_unless_a_phrase_lacks_its_verb() -> None:
    trees = ["(TOP (S (NP (NNS cats)) (VP (VBP sleep))))", "(TOP (NP (NN love) (NNS cats)))"]
    grammar = Grammar(count_productions(list(map(Tree.parse, trees))))
    tags = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD", "TO", "NNS", "NN")
    labels = ("S", "NP", "VP", "")
    label_grammar_ = LabelGrammar(grammar, labels, tags, root="TOP", empty_label=3, weight=0.1)

    def parse(predicate: str) -> list[str]:
        spans = {1: ("NP", 0.5), 2: ("S", 1.0), 5: (predicate, 0.5)}  # (0, 1), (0, 2), (1, 2)
        candidates = CandidateSpans(
            lengths=np.array([2]),
            tags=np.array([[tags.index("NNS"), tags.index("NN")], [tags.index("NN"), tags.index("VBP")]]),
            tag_utility=np.array([[0.0, 0.1], [0.0, -0.1]], np.float32),
            size=3,
            cells=np.array([*spans]),
            labels=np.array([[labels.index(label)] for label, _ in spans.values()]),
            utility=np.array([[utility] for _, utility in spans.values()], np.float32),
            sentence_labels=np.array([NO_LABEL]),
        )
        found = [search(candidates, all_tags=False)[0].tags for search in searches]
        assert found[0].tolist() == found[1].tolist()
        return [tags[tag] for tag in found[0].tolist()]

    searches = (label_grammar_.ranked_trees, label_grammar_.ranked_trees_in_python)
    assert parse("NP") == ["NNS", "NN"]
    assert parse("VP")[1] == "VBP"


def as_lists(arrays) -> list[list[int]]:
    return [array.tolist() for array in arrays if array is not None]


def test_a_sentence_has_the_same_tree_alone_in_a_batch_and_in_python(
    grammar: Grammar, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = random_scores(LENGTHS, labels=len(LABELS), tags=3, seed=3)
    expected_f1 = with_grammar(grammar)
    decoded = decode(scores, expected_f1=expected_f1)
    alone = [decode(select_sentence(scores, k), expected_f1=expected_f1) for k in range(len(LENGTHS))]
    for name in ("starts", "ends", "labels", "tags"):
        np.testing.assert_array_equal(np.concatenate([getattr(x, name) for x in alone]), getattr(decoded, name))
    assert expected_f1.grammar is not None
    candidates = find_candidates(scores, BracketDistribution.of(scores).marginals, expected_f1)
    compiled = as_lists(expected_f1.grammar.best_trees(candidates))
    monkeypatch.setattr(label_grammar, "available", False)
    assert as_lists(expected_f1.grammar.best_trees(candidates)) == compiled


@pytest.mark.parametrize("all_tags", [True, False])
def test_sentences_that_end_alike_have_the_same_trees_alone_and_together(grammar: Grammar, all_tags: bool) -> None:
    generator, length = np.random.default_rng(8), 6
    search = make_label_grammar(grammar, 0.3).ranked_trees
    for whole in [random_candidates(generator, length) for _ in range(30)]:
        alike = []
        for start in generator.integers(length + 1, size=8).tolist():  # the words and spans from here on are equal
            is_equal, is_equal_word = whole.cells // whole.size >= start, np.arange(length) >= start
            kept = is_equal | whole.required | (whole.cells == length) | (generator.random(len(is_equal)) < 0.5)
            utility = np.where(is_equal[:, None], whole.utility, generator.permutation(whole.utility))
            tag_utility = np.where(is_equal_word[:, None], whole.tag_utility, generator.permutation(whole.tag_utility))
            arrays = {"cells": whole.cells, "labels": whole.labels, "utility": utility, "required": whole.required}
            kept_arrays = {name: array[kept] for name, array in arrays.items()}
            alike.append(whole._replace(tag_utility=tag_utility, **kept_arrays))
        shifted = [each._replace(cells=each.cells + place * whole.size**2) for place, each in enumerate(alike)]
        columns = {
            name: np.concatenate([getattr(each, name) for each in shifted]) for name in whole._fields if name != "size"
        }
        trees, totals = search(whole._replace(**columns), all_tags=all_tags)
        alone = [search(each, all_tags=all_tags) for each in alike]
        assert totals.tolist() == [total for _, (total,) in alone]
        for column, parts in zip(trees[:4], zip(*(found[:4] for found, _ in alone), strict=True), strict=True):
            np.testing.assert_array_equal(column, np.concatenate(parts))


def test_threads_that_are_busy_leave_no_sentence_out(grammar: Grammar, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, expected_f1 = random_scores([4] * 40, labels=len(LABELS), tags=3, seed=5), with_grammar(grammar)
    expected = decode(scores, expected_f1=expected_f1)
    monkeypatch.setattr(threads, "_chosen_count", 2)
    end = Event()
    for _ in range(os.cpu_count() or 1):
        threads._kernel_pool().submit(end.wait)
    try:
        decoded = decode(scores, expected_f1=expected_f1)
    finally:
        end.set()
    for name in ("starts", "ends", "labels", "tags"):
        np.testing.assert_array_equal(getattr(decoded, name), getattr(expected, name))


def test_spans_are_sorted_and_make_a_binary_tree(grammar: Grammar) -> None:
    decoded = decode(random_scores(LENGTHS, labels=len(LABELS), tags=3, seed=4), expected_f1=with_grammar(grammar))
    first = 0
    for length in LENGTHS:
        spans = list(zip(decoded.starts, decoded.ends, strict=True))[first : first + 2 * length - 1]
        assert spans == sorted(set(spans)) and (0, length) in spans
        first += 2 * length - 1


def test_required_and_forbidden_constituents_are_respected(grammar: Grammar) -> None:
    scores = random_scores([6], labels=len(LABELS), tags=3, seed=6)
    constraints = Constraints(require=[(1, 4, "NP"), (2, 4)], forbid=[(0, 6, "S")])
    constrained = apply_constraints(scores, [constraints], LabelSet(LABELS), "TOP", numbers=[1])
    decoded = decode(constrained, expected_f1=with_grammar(grammar))
    spans = {(s, e): LABELS[k] for s, e, k in zip(decoded.starts, decoded.ends, decoded.labels.tolist(), strict=True)}
    assert spans[1, 4] == "NP" and spans[2, 4] in ("S", "NP", "S VP", "VP") and "S" not in spans[0, 6]


def test_without_tags_the_grammar_is_not_used(grammar: Grammar) -> None:
    scores = random_scores(LENGTHS, labels=len(LABELS), seed=7)
    with_it, without = (decode(scores, expected_f1=with_grammar(g)) for g in (grammar, None))
    assert with_it.labels.tolist() == without.labels.tolist()


def test_impossible_candidates_are_errors(grammar: Grammar) -> None:
    if not label_grammar.available:
        pytest.skip("the compiled search is not built")
    candidates = random_candidates(np.random.default_rng(2), 3)
    with pytest.raises(ValueError, match="cell 0 is 9, which is out of range"):  # from the third word to the second
        make_label_grammar(grammar, 1.0).best_trees(candidates._replace(cells=candidates.cells * 0 + 9))


def test_a_sentence_with_two_labels_is_an_error(grammar: Grammar) -> None:
    if not label_grammar.available:
        pytest.skip("the compiled search is not built")
    candidates = CandidateSpans(
        lengths=np.array([1]),
        tags=np.array([[0]]),
        tag_utility=np.zeros((1, 1), np.float32),
        size=2,
        cells=np.array([1]),
        labels=np.array([[1]]),
        utility=np.ones((1, 1), np.float32),
        sentence_labels=np.array([2]),
    )
    with pytest.raises(ValueError, match="label of the sentence 0 is 1"):
        make_label_grammar(grammar, 1.0).best_trees(candidates)


def test_random_calls_are_computed_or_refused() -> None:
    if not label_grammar.available:
        pytest.skip("the compiled search is not built")
    random_calls = import_module("parser.decoding.random_calls")  # imports the compiled code
    assert 50 < run_calls(random_calls.run_case, 400, seed=5).refused < 200
