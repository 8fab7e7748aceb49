"""The k most probable trees against the enumeration of all trees."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from parser.decoding.analyses import analyze
from parser.decoding.random_scores import (
    LABELS,
    derivations,
    random_scores,
    tree_probabilities,
)
from treecrf.chart import inside
from treecrf.parser.decoding import tree_search
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.label_chart import LabelChart
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


def log_sum(chart: LabelChart, subset: tree_search._Subset) -> float:
    """The exact bound on the log-probabilities of a subset's trees."""
    _, log_sums = inside(np.maximum(subset.labeled, subset.free)[None], np.array([chart.length]))
    return float(log_sums[0]) - chart.log_z


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_parts_are_never_too_low_and_tight_for_most_first_parts(scale: float, seed: int) -> None:
    scores = random_scores([7], labels=len(LABELS), seed=seed, scale=scale)
    chart = LabelChart(scores, BracketDistribution.of(scores), 0, LabelSet(LABELS), choices=30)
    search = tree_search._Search(chart, 30)
    checked: set[int] = set()
    tight = 0
    for _ in range(4):
        for _, _, division, _ in search._queue:
            if id(division) in checked:
                continue
            checked.add(id(division))
            exact = [log_sum(chart, division.part(chart, place)) for place in range(len(division.bounds))]
            assert all(division.bounds >= np.array(exact))
            first = division.starts[0], division.ends[0]
            if division.is_constituent[0] or division.subset.labeled[first] <= division.subset.free[first]:
                assert division.bounds[0] == pytest.approx(exact[0], abs=1e-5)
                tight += 1
            assert (np.diff(division.bounds) <= 0).all()
        search.step()
    assert len(checked) > 10 and tight > 5


@pytest.mark.parametrize(("length", "limit"), [(30, 1052), (50, 1052), (100, 134)])
def test_the_limit_on_the_work_decreases_with_the_cube_of_the_length(
    length: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []

    class EndlessSearch:
        is_complete = False
        computed = 0

        def __init__(self, chart: LabelChart, k: int) -> None:
            computed.append(self)
            self.log_probs = {(): 0.0}

        def step(self) -> None:
            self.computed += 1

    monkeypatch.setattr(tree_search, "_Search", EndlessSearch)
    ranking = tree_search.rank_trees(SimpleNamespace(length=length), 1)  # type: ignore[arg-type]
    assert not ranking.is_exact and computed[0].computed == limit
