import numpy as np
import pytest

from treecrf.trees.search import ExpectedCount


def test_the_interval_of_the_mean_shrinks_with_the_number_of_samples():
    few, many = ExpectedCount.of(np.array([0, 1] * 10)), ExpectedCount.of(np.array([0, 1] * 1000))
    assert few.mean == many.mean == 0.5
    assert few.mean_high - few.mean_low > 5 * (many.mean_high - many.mean_low)


def test_the_interval_has_the_width_of_its_formula():
    count = ExpectedCount.of(np.array([2, 4]))
    error = 1.959964 * ((2 + 2) / 4 / 2) ** 0.5
    assert (count.mean_low, count.mean_high) == pytest.approx((3 - error, 3 + error))


def test_samples_that_agree_have_an_interval_and_it_never_starts_below_zero():
    count = ExpectedCount.of(np.zeros(20, dtype=np.int64))
    assert count.mean_low == 0.0 < count.mean_high
    assert (count.low, count.high, count.samples, count.probabilities) == (0, 0, 20, {0: 1.0})


def test_low_and_high_contain_the_middle_of_the_samples():
    count = ExpectedCount.of(np.array([0] * 1 + [1] * 98 + [9] * 1))
    assert (count.low, count.high) == (1, 1)
    assert count.probabilities == pytest.approx({0: 0.01, 1: 0.98, 9: 0.01})
