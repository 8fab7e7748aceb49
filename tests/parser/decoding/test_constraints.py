"""Constraints against the enumeration of all trees that satisfy them."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parser.decoding.analyses import LABEL_SET, analyze, check, constrain, few_derivations, few_scores, satisfies
from parser.decoding.random_scores import (
    LABELS,
    LOSSES,
    log_sum,
    random_scores,
)
from treecrf.parser.decoding.constraints import Constraints, ImpossibleError
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.trees.tree import Span
from treecrf.trees.treebank.binarize import LabelSet

constituent = st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from([None, "S", "NP", "VP", "TOP"])).filter(
    lambda span: span[0] < span[1]
)


constraints = st.builds(Constraints, st.lists(constituent, max_size=2), st.lists(constituent, max_size=3))


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
    after, before = (
        TreeDistribution(scores=batch, labels=LABEL_SET, root="TOP").log_z.item()
        for batch in (given_constraints, scores)
    )
    assert after - before == pytest.approx(log_sum(left) - log_sum(all_derivations), abs=1e-3)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9])
def test_every_constituent_of_a_tree_may_be_required_and_all_but_the_root_forbidden(threshold: float) -> None:
    scores = random_scores([9], labels=len(LABELS), seed=5)
    tree = analyze(scores, threshold=threshold).tree
    required = constrain(scores, Constraints(require=tree.spans()))
    assert {*analyze(required, threshold=threshold).tree.spans()} >= {*tree.spans()}
    for span in tree.spans()[1:]:
        without = constrain(scores, Constraints(forbid=[span]))
        assert span not in analyze(without, threshold=threshold).tree.spans()


def test_each_sentence_of_a_batch_has_its_own_constraints() -> None:
    scores = random_scores([3, 3], labels=len(LABELS), seed=2)
    constraint = Constraints(forbid=[(0, 2, "NP"), (1, 3)])
    first, second = (constrain(scores, *pair) for pair in ((constraint, None), (None, constraint)))
    assert (first.spans[1] == scores.spans[1]).all() and (second.spans[0] == scores.spans[0]).all()
    for constrained_scores, sentence in ((first, 0), (second, 1)):
        is_changed = constrained_scores.spans[sentence] != scores.spans[sentence]
        assert sorted(zip(*(places.tolist() for places in is_changed.nonzero()), strict=True)) == [(0, 2), (1, 3)]


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


@pytest.mark.parametrize(
    ("first", "second", "do_cross"),
    [
        ((0, 2), (1, 3), True),
        ((1, 3), (0, 2), True),
        ((0, 3), (2, 4), True),
        ((0, 2), (2, 4), False),  # side by side
        ((2, 4), (0, 2), False),
        ((0, 3), (1, 3), False),  # one inside the other, with a common end
        ((0, 3), (0, 2), False),
        ((0, 4), (1, 3), False),
        ((1, 2), (1, 2), False),
    ],
)
def test_required_constituents_cross_if_each_has_a_word_that_the_other_lacks_and_one_in_common(
    first: tuple[int, int], second: tuple[int, int], do_cross: bool
) -> None:
    constraint = Constraints(require=[first, second])
    scores = random_scores([4], labels=len(LABELS))
    if do_cross:
        with pytest.raises(ImpossibleError, match="these cross, and no tree has both"):
            constrain(scores, constraint)
    else:
        assert satisfies(analyze(constrain(scores, constraint)).tree, constraint)


def test_a_required_constituent_forbids_exactly_the_spans_that_cross_it() -> None:
    size = 7
    spans = constrain(random_scores([size - 1], labels=len(LABELS)), Constraints(require=[(2, 4)])).spans[0]
    for start, end in combinations(range(size), 2):
        does_cross = start < 2 < end < 4 or 2 < start < 4 < end
        assert (spans[start, end] == -np.inf) == does_cross


def test_a_word_or_the_sentence_without_a_label_is_an_error() -> None:
    labels, scores = LabelSet(["NP"]), random_scores([3], labels=1)
    for span in ((0, 1), (1, 2), (2, 3), (0, 3)):
        with pytest.raises(ImpossibleError, match="no label of the model does that"):
            constrain(scores, Constraints(forbid=[span]), labels=labels)
