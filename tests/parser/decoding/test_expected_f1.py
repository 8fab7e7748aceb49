"""Expected-F1 decoding against the enumeration of all labeled trees."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest

from parser.decoding.label_grammars import COUNTS, LENGTHS, make_label_grammar, with_grammar
from parser.decoding.label_grammars import LABELS as GRAMMAR_LABELS
from parser.decoding.random_scores import LABELS, REPEATED, random_scores
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding import ExpectedF1, decode, expected_f1
from treecrf.parser.decoding.constraints import Constraints, apply_constraints
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.expected_f1 import (
    CHOICES,
    MIN_PROBABILITY,
    SPANS_PER_WORD,
    TAG_WEIGHT,
    find_candidates,
    possible_tags,
    rank_tags,
)
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.label_grammar import NO_TAG
from treecrf.trees.treebank.binarize import LabelSet, unary_chain
from treecrf.trees.treebank.bracket_writer import FlatTrees

LABEL_SET = LabelSet(LABELS)
LABEL_SETS = pytest.mark.parametrize("labels", [LABELS, REPEATED], ids=["labels", "repeated names"])


@cache
def bracketings(start: int, end: int) -> list[frozenset[tuple[int, int]]]:
    """All binary trees over fenceposts, as sets of their spans."""
    if end - start == 1:
        return [frozenset([(start, end)])]
    return [
        left | right | {(start, end)}
        for middle in range(start + 1, end)
        for left, right in product(bracketings(start, middle), bracketings(middle, end))
    ]


def labeled_spans(decoded: FlatTrees, labels: Sequence[str] = LABELS) -> dict[tuple[int, int], str]:
    positions = zip(decoded.starts.tolist(), decoded.ends.tolist(), strict=True)
    return dict(zip(positions, [labels[label] for label in decoded.labels.tolist()], strict=True))


def label_scores(scores: Scores, start: int, end: int) -> np.ndarray:
    return scores.labels_at(np.array([start * scores.spans.shape[1] + end]))[0]


def utility_of(scores: Scores, spans: dict[tuple[int, int], str], labels: Sequence[str], threshold: float) -> float:
    """The definition: the expected number of constituents that match, minus the threshold for each constituent.

    Over the same words, as many constituents of a name match as the tree and the correct tree both have.
    """
    marginals = BracketDistribution.of(scores).marginals[0]
    total = 0.0
    for (start, end), label in spans.items():
        posterior = np.exp(label_scores(scores, start, end).astype(float))
        posterior = float(marginals[start, end]) * posterior / posterior.sum()
        predicted = Counter(unary_chain(label))
        matches = [(predicted & Counter(unary_chain(other))).total() for other in labels]
        total += float(posterior @ np.array(matches)) - threshold * predicted.total()
    return total


@LABEL_SETS
@pytest.mark.parametrize("is_constrained", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.45])
def test_no_tree_has_a_higher_utility_than_the_decoded_one(
    threshold: float, loss: str, is_constrained: bool, labels: Sequence[str]
) -> None:
    label_set = LabelSet(labels)
    for seed in range(6):
        scores = random_scores([5], labels=len(labels), loss=loss, seed=seed, scale=2.0)
        if is_constrained:
            constraints = Constraints(require=[(1, 3, "NP")], forbid=[(3, 5), (0, 2, "S")])
            scores = apply_constraints(scores, [constraints], label_set, "TOP", numbers=[0])
        decoded = decode(scores, expected_f1=ExpectedF1.for_labels(label_set, threshold))
        best = {}  # by span: the highest utility of an allowed label
        for start, end in {span for tree in bracketings(0, 5) for span in tree}:
            allowed_labels = np.flatnonzero(label_scores(scores, start, end) > -np.inf).tolist()
            best[start, end] = max(
                (utility_of(scores, {(start, end): labels[label]}, labels, threshold) for label in allowed_labels),
                default=-np.inf,
            )
        allowed = [tree for tree in bracketings(0, 5) if all(scores.spans[0][span] > -np.inf for span in tree)]
        maximum = max(sum(best[span] for span in tree) for tree in allowed)
        utility = utility_of(scores, labeled_spans(decoded, labels), labels, threshold)
        assert utility == pytest.approx(maximum, abs=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_constituents_of_a_repeated_name_are_kept_if_both_are_probable(dtype: type) -> None:
    label_set = LabelSet(("NP", "NP NP", "(NP)"))
    utility = ExpectedF1.for_labels(label_set, 0.44)
    probabilities = np.array([[0.1, 0.85, 0.05], [0.44, 0.46, 0.1]], dtype)
    utilities, best = utility.best_labels(np.log(probabilities), np.ones(2, dtype))
    assert best.tolist() == [1, 1]
    assert utilities.tolist() == pytest.approx([0.95 + 0.85 - 0.88, 0.9 + 0.46 - 0.88], abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_label_of_maximal_utility_may_have_constituents_that_exclude_each_other(dtype: type) -> None:
    # no label, S, SQ, S SQ: both constituents exceed the threshold, and the last label has both
    constituents = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    utility = ExpectedF1(threshold=0.4, constituents=constituents, counts=constituents.sum(1))
    labels = np.log(np.array([[0.01, 0.51, 0.47, 0.01], [0.7, 0.3, 1e-9, 1e-9], [0.4, 0.45, 0.1, 0.05]], dtype))
    utilities, best = utility.best_labels(labels, np.array([1.0, 1.0, 0.7], dtype))
    assert best.tolist() == [3, 0, 0]
    assert utilities.tolist() == pytest.approx([0.52 + 0.48 - 0.8, 0, 0])


def test_a_high_threshold_keeps_only_probable_constituents() -> None:
    scores = random_scores([10, 12, 8], labels=len(LABELS), scale=4.0)
    decoded = [decode(scores, expected_f1=ExpectedF1.for_labels(LABEL_SET, threshold)) for threshold in (0.1, 0.98)]
    low, high = (int(LABEL_SET.counts[trees.labels].sum()) for trees in decoded)
    assert high < low / 2


@pytest.mark.parametrize("length", [1, 6])
def test_a_sentence_has_its_most_probable_free_label_if_no_label_has_a_utility(length: int) -> None:
    is_free = LABEL_SET.counts == 0
    for seed in range(10):
        scores = random_scores([length], labels=len(LABELS), seed=seed)
        decoded = decode(scores, expected_f1=ExpectedF1.for_labels(LABEL_SET, 0.98))
        free_scores = np.where(is_free, label_scores(scores, 0, length), -np.inf)
        assert labeled_spans(decoded)[0, length] == LABELS[int(free_scores.argmax())]


def test_without_mbr_there_is_no_threshold() -> None:
    scores = random_scores([9, 5], labels=len(LABELS))
    with_threshold = decode(scores, mbr=False, expected_f1=ExpectedF1.for_labels(LABEL_SET, 0.4))
    assert labeled_spans(with_threshold) == labeled_spans(decode(scores, mbr=False))


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan")])
def test_a_threshold_is_a_probability(threshold: float) -> None:
    with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
        ExpectedF1(threshold=threshold, constituents=np.zeros((1, 1)), counts=np.zeros(1))


@pytest.mark.skipif(not expected_f1.available, reason="needs compiled kernels")
@pytest.mark.parametrize("spans", [0, 1, 500])
def test_compiled_code_equals_the_definition(spans: int) -> None:
    generator = np.random.default_rng(spans)
    constituents = (generator.random((37, 9)) < 0.2).astype(float)
    utility = ExpectedF1(
        threshold=0.3, constituents=constituents, counts=constituents.sum(1) + (generator.random(37) < 0.1)
    )
    labels = (3 * generator.standard_normal((spans, 37))).astype(np.float32)
    labels[generator.random(labels.shape) < 0.2] = -np.inf
    marginals = generator.random(spans, dtype=np.float32)
    utilities, best = utility.best_labels(labels, marginals)
    expected_utilities, expected_best = utility.best_labels(labels.astype(float), marginals.astype(float))
    np.testing.assert_allclose(utilities, expected_utilities, rtol=1e-5, atol=1e-6)
    assert best.tolist() == expected_best.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])  # compiled and not
def test_ranked_labels_have_the_expected_constituents_minus_the_threshold(dtype: type) -> None:
    random = np.random.default_rng(4)
    constituents = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 0]], np.float64)
    utility = ExpectedF1(threshold=0.4, constituents=constituents, counts=constituents.sum(1))
    scores, marginals = random.normal(0, 1, (5, 4)).astype(dtype), random.random(5).astype(dtype)
    ranked = utility.rank_labels(scores, marginals, choices=3)
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    for span, labels in enumerate(ranked.labels.tolist()):
        assert labels == np.argsort(-scores[span])[:3].tolist()
        assert ranked.probabilities[span] == pytest.approx(probabilities[span, labels], abs=1e-6)
        for label, value in zip(labels, ranked.utility[span], strict=True):
            expected = marginals[span] * probabilities[span] @ (constituents @ constituents[label])
            assert value == pytest.approx(expected - 0.4 * constituents[label].sum(), abs=1e-5)


def test_no_sentence_has_too_many_candidates() -> None:
    scores = random_scores(LENGTHS, labels=len(GRAMMAR_LABELS), tags=3, seed=5, scale=0.01)
    marginals = np.where(np.isnan(scores.spans), 0, np.float32(0.9))  # far more than a tree has
    candidates = find_candidates(scores, marginals, with_grammar(Grammar(COUNTS)))
    assert (np.diff(candidates.first_spans) <= SPANS_PER_WORD * scores.lengths).all()


def test_no_label_has_a_higher_utility_than_the_most_probable_one() -> None:
    scores = random_scores([12, 9], labels=len(GRAMMAR_LABELS), tags=3, seed=9, scale=2.0)
    expected_f1 = with_grammar(Grammar(COUNTS))
    marginals = BracketDistribution.of(scores).marginals
    candidates = find_candidates(scores, marginals, expected_f1)
    ranked = expected_f1.rank_labels(
        scores.labels_at(candidates.cells), marginals.ravel()[candidates.cells], choices=candidates.labels.shape[1]
    )
    is_limited = (expected_f1.counts[ranked.labels[:, :1]] > 0) & (ranked.utility > ranked.utility[:, :1])
    assert is_limited.sum() > 3
    lost = 1e-3 * (ranked.probabilities[:, :1] - ranked.probabilities)
    limited = np.broadcast_to(candidates.utility[:, :1], ranked.utility.shape) - lost
    assert candidates.utility[is_limited] == pytest.approx(limited[is_limited], abs=1e-6)


def test_candidates_are_probable_spans_with_probable_labels() -> None:
    scores = random_scores(LENGTHS, labels=len(GRAMMAR_LABELS), tags=3, seed=9, scale=2.0)
    expected_f1 = with_grammar(Grammar(COUNTS))
    marginals = BracketDistribution.of(scores).marginals
    candidates = find_candidates(scores, marginals, expected_f1)
    size = scores.spans.shape[1]
    assert candidates.cells.tolist() == np.flatnonzero(marginals.ravel() >= MIN_PROBABILITY).tolist()
    sentence_cells = np.arange(len(scores.lengths)) * size**2 + scores.lengths
    is_sentence = np.isin(candidates.cells, sentence_cells)
    probabilities = np.exp(scores.labels_at(candidates.cells).astype(float))
    probabilities /= probabilities.sum(1, keepdims=True)
    for cell, labels, row in zip(candidates.cells, candidates.labels, probabilities, strict=True):
        marginal = 1.0 if cell in sentence_cells else float(marginals.ravel()[cell])
        best = np.argsort(-row)[:CHOICES]
        chosen = [label for label in best if expected_f1.counts[label] > 0 and marginal * row[label] >= MIN_PROBABILITY]
        has_constituents = expected_f1.counts[best[0]] > 0
        if cell in sentence_cells:  # the most probable label of a sentence decides
            chosen = [*best[:1], *(label for label in chosen if label != best[0])] if has_constituents else []
        assert [label for label in labels.tolist() if label >= 0] == chosen
    best_labels = probabilities[is_sentence].argmax(1)
    has_none = expected_f1.counts[best_labels] == 0
    assert candidates.sentence_labels.tolist() == np.where(has_none, best_labels, -1).tolist()
    assert candidates.size == size and candidates.tags[:, 0].tolist() == scores.word_tags.argmax(-1).tolist()


def test_the_least_probable_of_too_many_spans_are_dropped() -> None:
    scores = random_scores([9, 2], labels=len(GRAMMAR_LABELS), tags=3)
    marginals = np.zeros(scores.spans.shape, np.float32)
    marginals[0] = np.triu(np.linspace(0.1, 1, 100, dtype=np.float32).reshape(10, 10), 1)
    marginals[1, :3, :3] = np.triu(np.ones((3, 3)), 1)
    marginals[0, 0, 8:] = 0.5
    marginals[0, 8:, 0] = 0.07  # no spans, but more cells than the limit
    cells = expected_f1._most_probable(marginals.ravel(), scores.lengths, 10)
    probabilities = marginals.ravel()[cells]
    assert (cells < 100).sum() == SPANS_PER_WORD * 9 and (cells >= 100).sum() == 3
    assert probabilities.min() >= np.sort(marginals[0].ravel())[::-1][: SPANS_PER_WORD * 9].min()
    assert cells.tolist() == sorted(cells.tolist())


def test_possible_tags_are_ranked_by_their_odds_and_the_grammar() -> None:
    grammar = make_label_grammar(Grammar(COUNTS), 0.5)
    scores = np.array([[2.0, 9.0, 8.0], [5.0, -20.0, -30.0]], np.float32)
    tags, odds = rank_tags(scores)
    assert tags[:, 0].tolist() == [1, 0] and tags[0].tolist() == [1, 2, 0]
    possible, utility = possible_tags(tags, odds, grammar, min_odds=-6.0)
    assert possible.tolist() == [[1, 2, NO_TAG], [0, NO_TAG, NO_TAG]]
    excess = grammar.tag_log_probs[2] - grammar.tag_log_probs[1]
    assert utility[0, :2].tolist() == pytest.approx([0.0, 0.5 * (TAG_WEIGHT * -1.0 - excess)])
    assert rank_tags(scores[1:])[0].tolist() == [[0]]


def test_required_constituents_are_candidates_that_every_tree_has() -> None:
    label_set = LabelSet(GRAMMAR_LABELS)
    scores = random_scores([6, 5], labels=len(GRAMMAR_LABELS), tags=3, seed=3)
    constraints = [None, Constraints(require=[(1, 3, "NP")])]
    constrained = apply_constraints(scores, constraints, label_set, "TOP", numbers=[0, 1])
    marginals = BracketDistribution.of(constrained).marginals
    candidates = find_candidates(constrained, marginals, with_grammar(Grammar(COUNTS)))
    assert candidates.cells[candidates.is_required].tolist() == [(7 + 1) * 7 + 3]
    assert GRAMMAR_LABELS[candidates.labels[candidates.is_required][0, 0]] == "NP"
