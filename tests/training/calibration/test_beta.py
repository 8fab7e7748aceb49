import random

import pytest

from treecrf.parser.decoding.beta_calibration import BetaCalibration
from treecrf.training.calibration.beta import fit_beta
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
