import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.parser.decoding.log_space import log_softmax, logsumexp

rows = st.lists(st.one_of(st.just(-math.inf), st.floats(-700, 700)), min_size=1, max_size=8)


@given(rows)
def test_sums_of_exponentials_equal_the_definition(row: list[float]) -> None:
    values = np.array([row])
    total = math.fsum(math.exp(value) for value in row)
    expected = math.log(total) if total else -math.inf
    assert logsumexp(values)[0] == pytest.approx(expected, abs=1e-9)
    if total:
        assert np.exp(log_softmax(values)).sum() == pytest.approx(1)
        assert log_softmax(values)[0] == pytest.approx(values[0] - expected, abs=1e-9)


def test_rows_do_not_depend_on_each_other_and_large_scores_do_not_overflow() -> None:
    values = np.array([[3000.0, 3000.0], [-np.inf, -np.inf], [0.0, -np.inf]], np.float32)
    assert logsumexp(values).tolist() == [3000 + math.log(2), -math.inf, 0.0]
    assert np.exp(log_softmax(values)) == pytest.approx(np.array([[0.5, 0.5], [0.0, 0.0], [1.0, 0.0]]))
    assert logsumexp(values[:1])[0] == logsumexp(values)[0]
