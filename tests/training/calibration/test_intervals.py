import random

import pytest

from treecrf.training.calibration.intervals import error_of_perfect_calibration, estimate_error
from treecrf.training.calibration.predictions import Forecasts
from treecrf.training.calibration.reliability import reliability


def simulated_forecasts(count, shift=0.0):
    generator = random.Random(3)
    probabilities = [generator.random() for _ in range(count)]
    return Forecasts(
        probabilities=probabilities,
        is_correct=[generator.random() < probability - shift for probability in probabilities],
    )


def test_the_error_is_that_of_the_reliability_and_lies_in_its_interval():
    forecasts = simulated_forecasts(3000, shift=0.1)
    estimate = estimate_error(forecasts, [number // 3 for number in range(3000)], resamples=200)
    assert estimate.error == pytest.approx(reliability(forecasts.probabilities, forecasts.is_correct).error)
    assert estimate.low < estimate.error < estimate.high and estimate.predictions == 3000
    assert estimate.low > 0.05


def test_dependent_predictions_of_a_sentence_widen_the_interval():
    forecasts = Forecasts(
        probabilities=[0.5] * 400, is_correct=[number % 2 == 0 for number in range(20) for _ in range(20)]
    )
    by_sentence = estimate_error(forecasts, [number // 20 for number in range(400)], resamples=200)
    alone = estimate_error(forecasts, range(400), resamples=200)
    assert by_sentence.high > 2 * alone.high


def test_no_predictions_have_no_error():
    assert estimate_error(Forecasts(), []) == (0.0, 0.0, 0.0, 0)
    assert error_of_perfect_calibration([]) == 0.0


def test_the_error_of_perfect_calibration_falls_with_the_number_of_predictions():
    few, many = (simulated_forecasts(count) for count in (100, 10_000))
    assert error_of_perfect_calibration(few.probabilities) > 5 * error_of_perfect_calibration(many.probabilities) > 0
    assert reliability(many.probabilities, many.is_correct).error < 2 * error_of_perfect_calibration(many.probabilities)
