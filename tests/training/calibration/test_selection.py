import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treecrf.training.calibration.predictions import Forecasts
from treecrf.training.calibration.selection import precision_threshold, select


def units(rows):
    return Forecasts(*np.array(rows, float).reshape(-1, 3).T)


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
