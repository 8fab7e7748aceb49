import random

import pytest

from treecrf.calibration.reliability import reliability, risk_coverage


def test_probabilities_that_come_true_have_no_error():
    draw = random.Random(1)
    said = [draw.random() for _ in range(20_000)]
    found = reliability(said, [draw.random() < probability for probability in said])
    assert found.error < 0.02
    assert found.confidence == pytest.approx(found.accuracy, abs=0.02)
    assert sum(bin_.predictions for bin_ in found.bins) == found.predictions == 20_000


def test_too_much_confidence_is_an_error_of_its_size():
    assert reliability([0.9] * 10, [True] * 6 + [False] * 4).error == pytest.approx(0.3)


def test_certainty_has_a_bin_too():
    assert reliability([1.0, 0.0], [True, False]).error == 0.0


def test_no_prediction_makes_no_error():
    assert reliability([], []).bins == ()


def test_every_prediction_needs_its_truth():
    with pytest.raises(ValueError, match="1 probabilities of 2 predictions"):
        reliability([0.5], [True, False])


def test_the_surest_sentences_come_first():
    found = risk_coverage([0.2, 0.9], [(4, 4, 1), (4, 4, 4)], points=2)
    assert [(point.coverage, point.f1, point.confidence) for point in found] == [(0.5, 100.0, 0.9), (1.0, 62.5, 0.2)]


def test_nothing_is_answered_of_nothing():
    assert risk_coverage([], []) == []
