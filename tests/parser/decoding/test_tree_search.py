"""The k most probable trees against the enumeration of all trees."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from parser.decoding.analyses import analyze, constrain, few_derivations, few_scores, satisfies
from parser.decoding.random_scores import (
    LABELS,
    REPEATED,
    derivations,
    random_scores,
    tree_probabilities,
)
from treecrf.chart import inside
from treecrf.parser.decoding import tree_search
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.tree_search import LabelChart
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import LabelSet, repeating_labels


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


def test_label_scores_in_blocks_give_the_same_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = Constraints(require=[(3, 7, "NP")], forbid=[(0, 1), (0, 2, "NP")])
    scores = constrain(random_scores([12], labels=len(LABELS), seed=6), constraint)
    whole = analyze(scores, k=8)
    monkeypatch.setattr("treecrf.parser.decoding.tree_search._BLOCK", 5)
    assert analyze(scores, k=8) == whole
    assert all(satisfies(alternative.tree, constraint) for alternative in whole.alternatives)


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


@pytest.mark.parametrize("k", [1, 5, 20])
def test_the_search_takes_the_best_parts_first_and_knows_the_kth_best_tree(k: int) -> None:
    scores = random_scores([14], labels=len(LABELS), seed=8, scale=2.0)
    chart = LabelChart(scores, BracketDistribution.of(scores), 0, LabelSet(LABELS), choices=k)
    search = tree_search._Search(chart, k)
    assert search.threshold == (max(search.log_probs.values()) if k == 1 else -math.inf)
    steps = 0
    while not search.is_complete:
        bounds = [-bound for bound, *_ in search._queue]
        assert bounds[0] == max(bounds) > search.threshold
        search.step()
        steps += 1
    assert search.threshold == sorted(search.log_probs.values())[-k]
    assert len(search.log_probs) >= k and search.computed <= 1 + steps * tree_search._BATCH
