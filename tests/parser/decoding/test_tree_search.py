"""The k most probable trees against the enumeration of all trees."""

import math

import pytest

from parser.decoding.analyses import analyze
from parser.decoding.random_scores import (
    LABELS,
    derivations,
    random_scores,
    tree_probabilities,
)
from treecrf.trees.treebank.binarize import LabelSet


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
