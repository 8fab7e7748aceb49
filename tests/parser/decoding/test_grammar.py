"""The grammar of productions, and the trees of maximal utility under it against the enumeration of all trees."""

import math
import os
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from threading import Event

import numpy as np
import pytest

from parser.decoding.random_scores import random_scores, select_sentence
from parser.decoding.test_decode import to_torch
from treecrf import threads
from treecrf.parser.decoding import ExpectedF1, decode, label_grammar
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.candidates import SPANS_PER_WORD, find_candidates
from treecrf.parser.decoding.constraints import Constraints, apply_constraints
from treecrf.parser.decoding.device_decode import decode_on_device
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.label_grammar import NO_LABEL, CandidateSpans, LabelGrammar
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, from_spans
from treecrf.trees.treebank.productions import ProductionCounts, productions, productions_to_text
from treecrf.trees.treebank.well_formed import count_productions

TREES = [
    "(TOP (S (NP (DT the) (NN cat)) (VP (VB saw) (NP (DT a) (NN dog)))))",
    "(TOP (S (NP (NN cat)) (VP (VB sat))))",
    "(TOP (NP (NP (NN cat)) (NP (DT a) (NN dog))))",
    "(TOP (S (VP (VB sit)) (NP (NN cat))))",
    "(TOP (NN cat) (VB sat))",
]
COUNTS = count_productions(list(map(Tree.parse, TREES)))
LABELS = ("S", "NP", "(NP)", "S VP", "VP", "")
TAGS = ("DT", "NN", "VB")
LENGTHS = [7, 1, 12, 3, 2, 20]


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(COUNTS)


def make_label_grammar(grammar: Grammar, weight: float) -> LabelGrammar:
    return LabelGrammar(grammar, LABELS, TAGS, root="TOP", empty_label=2, weight=weight)


def test_the_children_of_every_context_have_a_distribution(grammar: Grammar) -> None:
    for state in range(len(grammar.shorter)):
        probs = [math.exp(grammar.advance(state, symbol)[0]) for symbol in range(grammar.end + 1)]
        assert sum(probs) == pytest.approx(1, abs=1e-9)


def test_probabilities_are_those_of_witten_and_bell(grammar: Grammar) -> None:
    def smooth(context: tuple[str, ...], child: str) -> float:
        """The definition; a context is a label with at most two children before, START before the first child."""
        shorter = smooth((*context[:1], *context[2:]) if context[1:] else (), child) if context else 0.0
        shorter = shorter or 1 / (len(grammar.symbols) + 2)  # all symbols, an unknown one, and the end
        events: Counter[str] = Counter()
        for (label, *children), count in COUNTS.items():
            sequence = ["START", *children, "END"]
            for place in range(1, len(sequence)):
                before = sequence[max(0, place + 1 - max(len(context), 1)) : place]
                if not context or (label, *before) == context:
                    events[sequence[place]] += count
        return (events[child] + len(events) * shorter) / (events.total() + len(events)) if events else shorter

    for label, children in [("NP", ["DT", "NN"]), ("VP", ["VB", "NP"]), ("S", ["VB"]), ("TOP", ["NN", "VB"])]:
        log_prob, sequence = 0.0, ["START", *children, "END"]
        for place in range(1, len(sequence)):
            log_prob += math.log(smooth((label, *sequence[max(0, place - 2) : place]), sequence[place]))
        assert grammar.children_log_prob(label, children) == pytest.approx(log_prob)


def test_frequent_productions_are_more_probable_than_others(grammar: Grammar) -> None:
    assert grammar.children_log_prob("NP", ["DT", "NN"]) > grammar.children_log_prob("NP", ["NN", "DT"])
    good, bad = map(Tree.parse, (TREES[1], "(TOP (S (NP (NN cat)) (VB sat)))"))
    assert grammar.log_prob(good) > grammar.log_prob(bad) > -math.inf
    assert grammar.log_prob(Tree.parse("(TOP (XYZ (ABC cat) (NN dog)))")) > -math.inf


def test_productions_can_be_read_back() -> None:
    tree = Tree("TOP", (Tree("a b", (Tree("(", ("x",)), Tree("", ("y",)))),))
    counts = Counter({**COUNTS, **Counter(productions(tree))})
    assert ProductionCounts(productions_to_text(counts)) == counts
    with pytest.raises(ValueError, match="line 2 is 'NP DT NN'; expected a count, a label, and its"):
        len(ProductionCounts("3 NP NN\nNP DT NN\n"))
    with pytest.raises(ValueError, match="a line does not start with a count"):
        Grammar(ProductionCounts("3 NP NN\nNP DT NN\n"))
    with pytest.raises(ValueError, match="a line has no children"):
        Grammar(ProductionCounts("3 NP NN\n4 NP\n"))


def test_trees_with_violations_are_not_counted() -> None:
    assert not count_productions([Tree.parse("(TOP (S (NP (PRP He)) (VBD left)))")])


def random_candidates(generator: np.random.Generator, length: int) -> CandidateSpans:
    cells = [(start, end) for start in range(length) for end in range(start + 1, length + 1)]
    spans = [cell for cell in cells if cell == (0, length) or generator.random() < 0.6]
    chosen = [generator.choice([0, 1, 3, 4], 2, replace=False) for _ in spans]
    has_free_root = generator.random() < 0.5
    if has_free_root:
        place = spans.index((0, length))
        del spans[place], chosen[place]
    labels = np.array(chosen, np.int64).reshape(-1, 2)
    labels[generator.random(labels.shape) < 0.2] = NO_LABEL
    if not has_free_root:
        labels[spans.index((0, length)), 0] = 1
    return CandidateSpans(
        lengths=np.array([length]),
        tags=generator.integers(0, 3, length),
        size=length + 1,
        cells=np.array([start * (length + 1) + end for start, end in spans], np.int64),
        labels=labels,
        utility=generator.normal(0, 0.5, labels.shape).astype(np.float32),
        sentence_labels=np.array([2 if has_free_root else NO_LABEL]),
    )


def all_trees(candidates: CandidateSpans) -> Iterator[tuple[list[Span], float]]:
    """Every set of candidates that is a tree, and the sum of its utilities."""
    length = int(candidates.lengths[0])
    choices = [
        (Span(cell // (length + 1), cell % (length + 1), LABELS[label]), float(utility))
        for cell, labels, utilities in zip(candidates.cells.tolist(), *candidates[4:6], strict=True)
        for label, utility in zip(labels.tolist(), utilities.tolist(), strict=True)
        if label != NO_LABEL
    ]
    for count in range(len(choices) + 1):
        for subset in combinations(choices, count):
            spans = [span for span, _ in subset]
            if len({span[:2] for span in spans}) < count or any(
                a.start < b.start < a.end < b.end or b.start < a.start < b.end < a.end
                for a, b in combinations(spans, 2)
            ):
                continue
            if candidates.sentence_labels[0] != NO_LABEL or (0, length) in {span[:2] for span in spans}:
                yield spans, sum(utility for _, utility in subset)


@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0])
def test_the_tree_has_the_highest_utility_of_all_trees(grammar: Grammar, weight: float) -> None:
    label_grammar_ = make_label_grammar(grammar, weight)
    generator = np.random.default_rng(1)
    for length in [1, 2, 2, 3, 3, 3, 3, 4, 4]:
        candidates = random_candidates(generator, length)
        leaves = [Tree(TAGS[tag], (f"w{place}",)) for place, tag in enumerate(candidates.tags)]
        utilities = {
            from_spans(spans, leaves): utility + weight * grammar.log_prob(from_spans(spans, leaves))
            for spans, utility in all_trees(candidates)
        }
        for spans in (label_grammar_.best_trees(candidates), label_grammar_.best_trees_in_python(candidates)):
            names = [LABELS[label] for label in spans.labels.tolist()]
            tree = from_spans(map(Span, spans.starts.tolist(), spans.ends.tolist(), names), leaves)
            assert len(names) == 2 * length - 1
            assert utilities[tree] == pytest.approx(max(utilities.values()), abs=1e-9)


def with_grammar(grammar: Grammar | None, threshold: float = 0.3) -> ExpectedF1:
    utility = ExpectedF1.for_labels(LabelSet(LABELS), threshold)
    label_grammar_ = None if grammar is None else make_label_grammar(grammar, 0.05)
    return ExpectedF1.for_labels(LabelSet(LABELS), threshold, label_grammar_) if grammar else utility


def as_lists(arrays) -> list[list[int]]:
    return [array.tolist() for array in arrays]


def test_a_sentence_has_the_same_tree_alone_in_a_batch_and_in_python(grammar: Grammar) -> None:
    scores = random_scores(LENGTHS, labels=len(LABELS), tags=3, seed=3)
    expected_f1 = with_grammar(grammar)
    decoded = decode(scores, expected_f1=expected_f1)
    alone = [decode(select_sentence(scores, k), expected_f1=expected_f1) for k in range(len(LENGTHS))]
    for name in ("starts", "ends", "labels", "tags"):
        np.testing.assert_array_equal(np.concatenate([getattr(x, name) for x in alone]), getattr(decoded, name))
    assert expected_f1.grammar is not None
    candidates = find_candidates(scores, BracketDistribution.of(scores).marginals, expected_f1)
    assert as_lists(expected_f1.grammar.best_trees(candidates)) == as_lists(
        expected_f1.grammar.best_trees_in_python(candidates)
    )


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


def test_no_sentence_has_too_many_candidates(grammar: Grammar) -> None:
    scores = random_scores(LENGTHS, labels=len(LABELS), tags=3, seed=5, scale=0.01)
    marginals = np.where(np.isnan(scores.spans), 0, np.float32(0.9))  # far more than a tree has
    candidates = find_candidates(scores, marginals, with_grammar(grammar))
    assert (np.diff(candidates.first_spans) <= SPANS_PER_WORD * scores.lengths).all()


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


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
def test_decoding_on_a_device_gives_the_same_trees(grammar: Grammar, loss: str) -> None:
    scores = random_scores(LENGTHS, labels=len(LABELS), loss=loss, tags=3, seed=8)
    expected = decode(scores, expected_f1=with_grammar(grammar))
    actual = decode_on_device(to_torch(scores), expected_f1=with_grammar(grammar))()
    for name in ("starts", "ends", "labels", "tags"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))
