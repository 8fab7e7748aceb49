"""Analyses of random scores, and their comparison with the enumeration of all labeled binary trees."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from itertools import islice
from unittest import mock

import pytest

from parser.decoding.attachment_rules import reading
from parser.decoding.random_scores import (
    LABELS,
    Derivations,
    derivations,
    leaves_of,
    random_scores,
    tree_probabilities,
)
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding import ExpectedF1, decode, tree_search
from treecrf.parser.decoding.analysis import Analyzer
from treecrf.parser.decoding.attachments import Attachments
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.decoding.constraints import Constraints, apply_constraints
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.trees.analysis import Analysis
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, from_spans

LABEL_SET = LabelSet(LABELS)
Phrases = tuple[tuple[tuple[int, int], tuple[str, ...]], ...]  # unary chains at their places


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
    excluded: Collection[int] = (),
    trees_per_reading: Sequence[float] = (10_000,),  # so that the sums over the trees of a reading are complete
    **search: object,
) -> list[Analysis]:
    brackets = BracketDistribution.of(scores)
    expected_f1 = ExpectedF1.for_labels(labels, threshold) if threshold else None
    decoded = decode(scores, mbr=mbr, expected_f1=expected_f1, distribution=brackets)
    leaves = [leaves_of(length) for length in scores.lengths.tolist()]
    spans = map(Span, decoded.starts.tolist(), decoded.ends.tolist(), map(labels.strings.__getitem__, decoded.labels))
    trees = [from_spans(list(islice(spans, 2 * len(words) - 1)), words) for words in leaves]
    distribution = TreeDistribution(scores=scores, labels=labels, root="TOP", choices=10, excluded=excluded)
    analyzer = Analyzer(
        trees=distribution,
        brackets=brackets,
        beta=BetaCalibration(),
        tree_calibration=TreeCalibration(),
        tag_names=(),
        attachments=Attachments(labels.strings, ("_",), "en"),
    )
    limits = {"_TREES_PER_READING": trees_per_reading, "_LOG_RATIO": 20.0}
    with mock.patch.multiple(tree_search, **limits):
        return list(analyzer.analyze(trees, k=k, **search))


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
    best = readings(log_probs)[: len(analysis.alternatives)]
    assert analysis.alternatives_exact
    found = {alternative.tree: alternative for alternative in analysis.alternatives}
    assert found.keys() == {tree for tree, _ in best}
    for tree, probability in best:
        assert found[tree].log_prob == pytest.approx(log_probs[tree], abs=1e-5)
        assert found[tree].probability == pytest.approx(probability, abs=1e-5)
    probabilities = [alternative.probability for alternative in analysis.alternatives]
    assert probabilities == sorted(probabilities, reverse=True)


def readings(log_probs: dict[Tree, float]) -> list[tuple[Tree, float]]:
    """The most probable tree of each reading and the reading's probability, the most probable reading first.

    The tree is the most probable one with those phrases of two or more words whose trees have the highest sum.
    """
    by_phrases: dict[Phrases, list[Tree]] = defaultdict(list)
    for tree in log_probs:
        by_phrases[phrases(tree)].append(tree)
    sums = {key: sum(math.exp(log_probs[tree]) for tree in trees) for key, trees in by_phrases.items()}
    groups: dict[object, list[Phrases]] = defaultdict(list)
    for key in sorted(sums, key=lambda key: -sums[key]):
        groups[reading(by_phrases[key][0])].append(key)
    best = [
        (max(by_phrases[keys[0]], key=log_probs.__getitem__), sum(map(sums.__getitem__, keys)))
        for keys in groups.values()
    ]
    return sorted(best, key=lambda found: -found[1])


def phrases(tree: Tree) -> Phrases:
    """The unary chains below the root over two or more words."""
    chains: dict[tuple[int, int], tuple[str, ...]] = {}
    for start, end, label in [] if tree.is_leaf else tree.spans()[1:]:
        if end - start > 1:
            chains[start, end] = (*chains.get((start, end), ()), label)
    return tuple(sorted(chains.items()))


def satisfies(tree: Tree, constraints: Constraints) -> bool:
    spans = tree.spans()
    there = [
        any(span[:2] == constraint[:2] and constraint[2] in (None, span.label) for span in spans)
        for constraint in (*constraints.require, *constraints.forbid)
    ]
    return all(there[: len(constraints.require)]) and not any(there[len(constraints.require) :])
