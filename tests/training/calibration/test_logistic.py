import math
import random

import pytest

from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.training.calibration.logistic import fit_beta, fit_tree_calibration
from treecrf.training.calibration.reliability import reliability


@pytest.mark.parametrize(
    "true_beta", [BetaCalibration(0.5, 0.5), BetaCalibration(1.7, 0.7, 0.8), BetaCalibration(0.6, 1.2, -0.3)]
)
def test_fit_recovers_the_parameters_of_simulated_predictions(true_beta):
    generator = random.Random(1)
    probabilities = [generator.random() for _ in range(200_000)]
    is_correct = [generator.random() < true_beta(probability) for probability in probabilities]
    beta = fit_beta(probabilities, is_correct)
    assert list(beta) == pytest.approx(list(true_beta), abs=0.05)
    assert reliability(probabilities, is_correct).error > 0.025
    assert reliability(list(map(beta, probabilities)), is_correct).error < 0.01


@pytest.mark.parametrize(
    ("probabilities", "is_correct"),
    [([], []), ([0.5], [True]), ([0.2, 0.8], [True, False]), ([0.1, 0.2, 0.8, 0.9], [True, False, True, True])],
)
def test_fit_to_very_few_predictions_is_increasing(probabilities, is_correct):
    beta = fit_beta(probabilities, is_correct)
    assert beta.a > 0 and beta.b > 0


@pytest.mark.parametrize("true", [TreeCalibration(0.5, 0.6, 1.0, -0.4), TreeCalibration(0.3, 1.5, 0.0, 0.5)])
def test_the_fit_of_trees_recovers_simulated_parameters(true):
    generator = random.Random(1)
    log_probs = [-generator.expovariate(0.3) for _ in range(30_000)]
    words = [generator.randint(1, 40) for _ in log_probs]
    is_correct = [generator.random() < true(log_prob, n) for log_prob, n in zip(log_probs, words, strict=True)]
    calibration = fit_tree_calibration(log_probs, words, is_correct)
    assert list(calibration) == pytest.approx(list(true), abs=0.15)
    assert reliability([math.exp(log_prob) for log_prob in log_probs], is_correct).error > 0.03
    assert reliability(list(map(calibration, log_probs, words)), is_correct).error < 0.01


@pytest.mark.parametrize(
    ("log_probs", "is_correct"),
    [([], []), ([-1.0], [True]), ([-5.0, -0.1], [True, False]), ([-math.inf, 0.0], [False, True])],
)
def test_fit_to_very_few_trees_keeps_the_order(log_probs, is_correct):
    calibration = fit_tree_calibration(log_probs, [7] * len(log_probs), is_correct)
    probabilities = [calibration(log_prob, 7) for log_prob in (-math.inf, -900.0, -20.0, -2.0, -0.5, -1e-3, 0.0)]
    assert sorted(probabilities) == probabilities and probabilities[0] == 0 and probabilities[-1] == 1
