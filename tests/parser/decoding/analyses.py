"""Analyses of random scores, and their comparison with the enumeration of all labeled binary trees."""

import math
from collections import Counter, defaultdict
from functools import cache

import pytest

from parser.decoding.random_scores import (
    LABELS,
    Derivations,
    derivations,
    leaves_of,
    random_scores,
    tree_probabilities,
)
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding import ExpectedF1, decode
from treecrf.parser.decoding.analysis import analyze_batch
from treecrf.parser.decoding.constraints import Constraints, apply_constraints
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.trees.analysis import Analysis
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet

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


def satisfies(tree: Tree, constraints: Constraints) -> bool:
    spans = tree.spans()
    there = [
        any(span[:2] == constraint[:2] and constraint[2] in (None, span.label) for span in spans)
        for constraint in (*constraints.require, *constraints.forbid)
    ]
    return all(there[: len(constraints.require)]) and not any(there[len(constraints.require) :])
