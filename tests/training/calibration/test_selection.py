import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import FIFTY, random_parser
from treecrf import read_trees
from treecrf.training.calibration import collect_predictions
from treecrf.training.calibration.breakdown import break_down, coverage_table, error_table, frequent_labels
from treecrf.training.calibration.predictions import Predictions
from treecrf.training.calibration.selection import Candidates, dev_thresholds, precision_threshold, select

TREES = list(read_trees(FIFTY))


def units(rows):
    return Candidates(*np.array(rows, float).reshape(-1, 3).T)


@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.8]), st.integers(0, 3), st.just(3)), max_size=8),
    st.sampled_from([0.4, 0.6, 0.9]),
)
def test_the_threshold_is_the_lowest_confidence_with_the_precision(rows, precision):
    candidates = units(rows)
    good = [confidence for confidence, _, _ in rows if select(candidates, confidence).precision >= precision]
    assert precision_threshold(candidates, precision) == min(good, default=math.inf)


def test_a_selection_has_its_coverage_and_precision():
    selection = select(units([(0.9, 3, 4), (0.8, 4, 4), (0.2, 0, 9), (0.1, 5, 5)]), 0.8)
    assert selection == (0.5, 7 / 8)
    assert select(units([(0.9, 1, 1)]), math.inf) == (0.0, 1.0)


def test_a_breakdown_has_the_constituents_of_frequent_and_rare_labels():
    parser = random_parser(TREES)
    predictions = collect_predictions(parser, TREES)
    frequent = frequent_labels(TREES, count=2)
    assert frequent == {"NP", "VP"}
    thresholds = dev_thresholds(predictions, 0.5)
    row = break_down("fifty", predictions, frequent=frequent, thresholds=thresholds)
    labels = predictions.labels
    assert row.frequent.predictions == sum(label in frequent for label in labels)
    assert row.frequent.predictions + row.rare.predictions == row.constituents.predictions == len(labels)
    assert row.trees.predictions == row.sentences == len(TREES) > 0 < row.trees_by_chance
    assert all(selection.precision >= 0.5 for selection in row.selections.values())
    assert row.selections.keys() == {"constituents", "sentences", "trees"}
    tables = [*error_table([row]), *coverage_table([row], precision=0.5)]
    assert len({line.count("|") for line in tables[:3]}) == len({line.count("|") for line in tables[3:]}) == 1
    assert f"{row.constituents.error:.4f} (" in tables[2] and "50 %" in tables[3]


def test_concatenated_predictions_are_those_of_all_trees():
    parser = random_parser(TREES)
    parts = [collect_predictions(parser, part) for part in (TREES[:20], TREES[20:])]
    together, whole = Predictions.concatenate(parts), collect_predictions(parser, TREES)
    assert sorted(together.labeled.probabilities) == pytest.approx(sorted(whole.labeled.probabilities), abs=1e-5)
    for name in ("labels", "words", "counts"):
        assert sorted(getattr(together, name)) == sorted(getattr(whole, name)) and getattr(whole, name)
    assert len(together.trees.is_correct) == len(together.tree_log_probs) == len(TREES)
