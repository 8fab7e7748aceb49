import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.training.calibration.predictions import Forecasts, PredictedTree
from treecrf.training.calibration.reliability import (
    error_of_perfect_calibration,
    estimate_error,
    precision_threshold,
    reliability,
    select,
    selection_curve,
)


def simulated_forecasts(count, shift=0.0):
    generator = random.Random(3)
    probabilities = [generator.random() for _ in range(count)]
    return Forecasts.single([(probability, generator.random() < probability - shift) for probability in probabilities])


def predicted_tree(gold, predicted, matched):
    return PredictedTree(9, math.log(0.5), 0.5, False, gold, predicted, matched)


def test_calibrated_probabilities_have_no_error():
    generator = random.Random(1)
    probabilities = [generator.random() for _ in range(20_000)]
    result = reliability(probabilities, [generator.random() < probability for probability in probabilities])
    assert result.error < 0.02
    assert result.confidence == pytest.approx(result.accuracy, abs=0.02)
    assert sum(bin_.predictions for bin_ in result.bins) == result.predictions == 20_000


def test_error_is_the_distance_of_confidence_and_accuracy():
    assert reliability([0.9] * 10, [True] * 6 + [False] * 4).error == pytest.approx(0.3)


def test_probabilities_0_and_1_have_bins():
    assert reliability([1.0, 0.0], [True, False]).error == 0.0


def test_no_predictions_have_no_bins():
    assert reliability([], []).bins == ()


def test_different_numbers_of_probabilities_and_predictions_are_an_error():
    with pytest.raises(ValueError, match="1 probabilities for 2 predictions"):
        reliability([0.5], [True, False])


def test_coverage_starts_with_the_highest_confidence():
    trees = [predicted_tree(4, 4, 1), predicted_tree(4, 4, 4)]
    curve = selection_curve(np.array([0.2, 0.9]), trees, points=2)
    assert [(point.coverage, point.f1, point.confidence) for point in curve] == [(0.5, 100.0, 0.9), (1.0, 62.5, 0.2)]


def test_no_sentences_have_an_empty_selection_curve():
    assert selection_curve(np.zeros(0), []) == []


def test_the_estimated_error_is_that_of_the_reliability_and_lies_in_its_interval():
    forecasts = simulated_forecasts(3000, shift=0.1)
    estimate = estimate_error(forecasts, np.arange(3000) // 3, resamples=200)
    assert estimate.error == pytest.approx(reliability(forecasts.confidences, forecasts.correct).error)
    assert estimate.low < estimate.error < estimate.high and estimate.predictions == 3000
    assert estimate.low > 0.05


def test_dependent_predictions_of_a_sentence_widen_the_interval():
    forecasts = Forecasts.single([(0.5, number % 2 == 0) for number in range(20) for _ in range(20)])
    by_sentence = estimate_error(forecasts, np.arange(400) // 20, resamples=200)
    alone = estimate_error(forecasts, np.arange(400), resamples=200)
    assert by_sentence.high > 2 * alone.high


def test_no_predictions_have_no_error():
    assert estimate_error(Forecasts.single([]), np.arange(0)) == (0.0, 0.0, 0.0, 0)
    assert error_of_perfect_calibration(np.zeros(0)) == 0.0


def test_the_error_of_perfect_calibration_falls_with_the_number_of_predictions():
    few, many = (simulated_forecasts(count) for count in (100, 10_000))
    chance = error_of_perfect_calibration(many.confidences)
    assert error_of_perfect_calibration(few.confidences) > 5 * chance > 0
    assert reliability(many.confidences, many.correct).error < 2 * chance


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
