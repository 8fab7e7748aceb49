import random

import pytest

from treecrf.training.calibration.reliability import coverage_curve, reliability


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
    curve = coverage_curve([0.2, 0.9], [(4, 4, 1), (4, 4, 4)], points=2)
    assert [(point.coverage, point.f1, point.confidence) for point in curve] == [(0.5, 100.0, 0.9), (1.0, 62.5, 0.2)]


def test_no_sentences_have_an_empty_coverage_curve():
    assert coverage_curve([], []) == []
