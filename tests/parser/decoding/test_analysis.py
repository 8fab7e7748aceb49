"""Analyses against the enumeration of all labeled binary trees."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parser.decoding.random_scores import (
    LABELS,
    LOSSES,
    REPEATED,
    Derivations,
    derivations,
    leaves_of,
    log_sum,
    random_scores,
    select_sentence,
    tree_probabilities,
)
from treecrf.network.data.scores import Scores
from treecrf.parser.decoding import ExpectedF1, decode
from treecrf.parser.decoding.analysis import analyze_batch
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.constraints import Constraints, ImpossibleError, apply_constraints
from treecrf.trees.analysis import Analysis
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, repeating_labels

LABEL_SET = LabelSet(LABELS)


@cache
def few_scores(loss: str, length: int, labels: tuple[str, ...] = LABELS) -> Scores:
    return random_scores([length], labels=len(labels), loss=loss, seed=length)


@cache
def few_derivations(loss: str, length: int, labels: tuple[str, ...] = LABELS) -> Derivations:
    return derivations(few_scores(loss, length, labels), labels)


def constrain(scores: Scores, *constraints: Constraints | None, labels: LabelSet = LABEL_SET) -> Scores:
    return apply_constraints(scores, constraints, labels, "TOP", numbers=range(len(constraints)))


def analyze_all(
    scores: Scores,
    *,
    labels: LabelSet = LABEL_SET,
    k: int = 1,
    mbr: bool = True,
    threshold: float = 0.0,
    **search: object,
) -> list[Analysis]:
    distribution = BracketDistribution.of(scores)
    expected_f1 = ExpectedF1.for_labels(labels, threshold) if threshold else None
    decoded = decode(scores, mbr=mbr, expected_f1=expected_f1, distribution=distribution)
    leaves = [leaves_of(length) for length in scores.lengths.tolist()]
    return list(analyze_batch(scores, distribution, decoded, leaves, labels, root="TOP", k=k, **search))


def analyze(scores: Scores, **options: object) -> Analysis:
    (analysis,) = analyze_all(scores, **options)
    return analysis


def check(analysis: Analysis, derivations: Derivations) -> None:
    """Compares an analysis with the distribution over all trees."""
    log_probs = tree_probabilities(derivations)
    marginals: dict[Span, list[float]] = defaultdict(list)  # of each occurrence of a constituent over the same words
    for tree, log_prob in log_probs.items():
        for span, occurrences in Counter(tree.spans()).items():
            marginals[span] += [0.0] * (occurrences - len(marginals[span]))
            for occurrence in range(occurrences):
                marginals[span][occurrence] += math.exp(log_prob)
    assert analysis.log_prob == pytest.approx(log_probs[analysis.tree], abs=1e-5)
    for rated in (analysis, *analysis.alternatives):
        spans = [Span(c.start, c.end, c.label) for c in rated.constituents]
        assert spans == rated.tree.spans()
        for place, c in enumerate(rated.constituents):
            occurrence = spans[:place].count(spans[place])
            assert c.probability == c.calibrated == pytest.approx(marginals[spans[place]][occurrence], abs=1e-5)
    best = list(log_probs.items())[: len(analysis.alternatives)]
    assert [alternative.log_prob for alternative in analysis.alternatives] == pytest.approx(
        [log_prob for _, log_prob in best], abs=1e-5
    )
    assert [alternative.tree for alternative in analysis.alternatives] == [tree for tree, _ in best]
    assert analysis.alternatives_exact


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("labels", [LABELS, REPEATED], ids=["labels", "repeated names"])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_analysis_equals_enumeration(loss: str, labels: tuple[str, ...], length: int) -> None:
    all_derivations = few_derivations(loss, length, labels)
    k = min(30, len(all_derivations))
    analysis = analyze(few_scores(loss, length, labels), labels=LabelSet(labels), k=k)
    assert len(analysis.alternatives) == k
    check(analysis, all_derivations)


@pytest.mark.parametrize("labels", [("S NP", "(NP)"), ("NP NP", "NP"), ("S S", "")])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_all_trees_of_four_words_equal_enumeration(labels: tuple[str, ...], scale: float) -> None:
    scores = random_scores([4], labels=len(labels), scale=scale)
    log_probs = tree_probabilities(derivations(scores, labels))
    analysis = analyze(scores, labels=LabelSet(labels), k=len(log_probs) + 1)
    assert analysis.alternatives_exact
    assert {alternative.tree for alternative in analysis.alternatives} == set(log_probs)
    assert [alternative.log_prob for alternative in analysis.alternatives] == pytest.approx(
        [*log_probs.values()], abs=1e-5
    )
    assert sum(math.exp(alternative.log_prob) for alternative in analysis.alternatives) == pytest.approx(1, abs=1e-5)


constituent = st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from([None, "S", "NP", "VP", "TOP"])).filter(
    lambda span: span[0] < span[1]
)
constraints = st.builds(Constraints, st.lists(constituent, max_size=2), st.lists(constituent, max_size=3))


def satisfies(tree: Tree, constraints: Constraints) -> bool:
    spans = tree.spans()
    there = [
        any(span[:2] == constraint[:2] and constraint[2] in (None, span.label) for span in spans)
        for constraint in (*constraints.require, *constraints.forbid)
    ]
    return all(there[: len(constraints.require)]) and not any(there[len(constraints.require) :])


@settings(max_examples=40)
@given(st.sampled_from(LOSSES), st.sampled_from([1, 3]), constraints, st.booleans())
def test_constraints_condition_the_distribution(loss: str, length: int, constraint: Constraints, mbr: bool) -> None:
    scores, all_derivations = few_scores(loss, length), few_derivations(loss, length)
    left = {tree: totals for tree, totals in all_derivations.items() if satisfies(tree, constraint)}
    if any(end > length for _, end, _ in (*constraint.require, *constraint.forbid)) or not left:
        with pytest.raises(ImpossibleError, match=r"sentence 0: .*\b(require|forbid) .* over words\[\d:\d\]"):
            constrain(scores, constraint)
        return
    given_constraints = constrain(scores, constraint)
    analysis = analyze(given_constraints, k=10, mbr=mbr)
    assert satisfies(analysis.tree, constraint)
    check(analysis, left)
    drop = BracketDistribution.of(given_constraints).log_z - BracketDistribution.of(scores).log_z
    assert drop.item() == pytest.approx(log_sum(left) - log_sum(all_derivations), abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mbr", [True, False])
def test_an_analysis_is_the_same_alone_and_in_a_batch(loss: str, mbr: bool) -> None:
    together = random_scores([4, 9, 1], labels=len(LABELS), loss=loss)
    sentences = [select_sentence(together, number) for number in range(3)]
    assert analyze_all(together, k=3, mbr=mbr) == [analyze(sentence, k=3, mbr=mbr) for sentence in sentences]


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9])
def test_every_constituent_of_a_tree_may_be_required_and_all_but_the_root_forbidden(threshold: float) -> None:
    scores = random_scores([9], labels=len(LABELS), seed=5)
    tree = analyze(scores, threshold=threshold).tree
    required = constrain(scores, Constraints(require=tree.spans()))
    assert {*analyze(required, threshold=threshold).tree.spans()} >= {*tree.spans()}
    for span in tree.spans()[1:]:
        without = constrain(scores, Constraints(forbid=[span]))
        assert span not in analyze(without, threshold=threshold).tree.spans()


def test_label_scores_in_blocks_give_the_same_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = Constraints(require=[(3, 7, "NP")], forbid=[(0, 1), (0, 2, "NP")])
    scores = constrain(random_scores([12], labels=len(LABELS), seed=6), constraint)
    whole = analyze(scores, k=8)
    monkeypatch.setattr("treecrf.parser.decoding.label_chart._BLOCK", 5)
    assert analyze(scores, k=8) == whole
    assert all(satisfies(alternative.tree, constraint) for alternative in whole.alternatives)


def test_a_tree_with_many_derivations_is_one_alternative() -> None:
    labels = LabelSet(["(TOP)"])
    analysis = analyze(random_scores([12], labels=1), labels=labels, k=5)
    assert [alternative.tree for alternative in analysis.alternatives] == [analysis.tree]
    assert analysis.log_prob == pytest.approx(0.0, abs=1e-5)
    assert analysis.constituents[0].probability == 1.0 and len(analysis.constituents) == 1


def test_excluded_labels_are_in_no_alternative() -> None:
    labels = LabelSet(REPEATED)
    scores = few_scores("two-stage", 3, REPEATED)
    log_probs = tree_probabilities(few_derivations("two-stage", 3, REPEATED))
    analysis = analyze(scores, labels=labels, k=40, excluded=repeating_labels(labels))
    allowed = [tree for tree in log_probs if not is_repeating(tree)]
    assert [alternative.tree for alternative in analysis.alternatives] == allowed[:40]
    assert [alternative.log_prob for alternative in analysis.alternatives] == pytest.approx(
        [log_probs[tree] for tree in allowed[:40]], abs=1e-5
    )


def is_repeating(tree: Tree) -> bool:
    nodes = [node for node in tree.walk() if len(node.child_trees) == 1]
    return any(node.label == node.child_trees[0].label for node in nodes)


def test_a_search_that_is_stopped_gives_a_beam() -> None:
    scores = random_scores([14], labels=len(LABELS), seed=8)
    calls: list[int] = []

    def should_stop() -> bool:
        calls.append(1)
        return len(calls) > 2

    beam, exact = analyze(scores, k=20, should_stop=should_stop), analyze(scores, k=20)
    assert exact.alternatives_exact and not beam.alternatives_exact and len(calls) == 3
    log_probs = {alternative.tree: alternative.log_prob for alternative in exact.alternatives}
    values = [alternative.log_prob for alternative in beam.alternatives]
    assert values == sorted(values, reverse=True)
    for alternative in beam.alternatives:
        if alternative.tree in log_probs:
            assert alternative.log_prob == pytest.approx(log_probs[alternative.tree], abs=1e-9)


def test_a_search_that_reaches_its_limit_gives_a_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = random_scores([14], labels=len(LABELS), seed=8)
    monkeypatch.setattr("treecrf.parser.decoding.tree_search._MAX_SUBSETS", 0)
    monkeypatch.setattr("treecrf.parser.decoding.tree_search._MAX_SUBSETS_PER_TREE", 0)
    beam = analyze(scores, k=3)
    assert not beam.alternatives_exact and len(beam.alternatives) == 3


def constrained(require: object = (), forbid: object = ()) -> Callable[[], object]:
    scores = random_scores([2, 3], labels=len(LABELS))
    return lambda: constrain(scores, None, Constraints(require=require, forbid=forbid))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (constrained([(0, 4)]), r"sentence 1: require a constituent over words\[0:4\] .* of 3 words"),
        (constrained([(2, 2)]), r"require a constituent over words\[2:2\] .* expected 0 <= start < end <= 3"),
        (constrained(forbid=[(-1, 2, "NP")]), r"forbid NP over words\[-1:2\]"),
        (constrained([(0, 2, "XP")]), r"require XP over .*no such label; expected one of NP, S, TOP, VP"),
        (constrained([(0, 2), (1, 3, "NP")]), r"words\[0:2\] and NP over words\[1:3\]: these cross"),
        (constrained([(0, 2, "NP")], [(0, 2)]), r"require NP over .* and forbid a constituent over .*no label"),
        (constrained(forbid=[(0, 3)]), r"forbid a constituent over words\[0:3\]: no label"),
        (constrained([(1, 2, "TOP")]), r"require TOP over words\[1:2\]: no label"),
        (constrained([(0,)]), r"require contains \(0,\); expected \(start, end\)"),
        (constrained(forbid=[(0, 1.0)]), "forbid contains"),
        (constrained([(0, 1, "")]), "require contains"),
        (constrained(["NP"]), "require contains 'NP'"),
    ],
)
def test_impossible_constraints_are_errors(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


def test_without_labels_of_parts_a_forbidden_constituent_is_no_span() -> None:
    labels = LabelSet(["NP"])  # a single label: every span is an NP
    scores = random_scores([3], labels=1)

    def spans_without(*forbidden: tuple[int, ...]) -> list[Span]:
        return analyze(constrain(scores, Constraints(forbid=forbidden), labels=labels), labels=labels).tree.spans()

    assert (1, 3, "NP") in spans_without((0, 2))
    assert (0, 2, "NP") in spans_without((1, 3))
    with pytest.raises(ImpossibleError, match=r"forbid a .*\[0:2\], forbid NP over words\[1:3\]: no tree is left"):
        spans_without((0, 2), (1, 3, "NP"))
