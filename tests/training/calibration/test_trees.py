import math
import random

import pytest

from small import FIFTY, random_parser
from treecrf import read_trees
from treecrf.parser.decoding.tree_calibration import TreeCalibration
from treecrf.training.calibration.reliability import reliability
from treecrf.training.calibration.trees import fit_tree_calibration

TREES = list(read_trees(FIFTY))


@pytest.mark.parametrize("true", [TreeCalibration(0.5, 0.6, 1.0, -0.4), TreeCalibration(0.3, 1.5, 0.0, 0.5)])
def test_fit_recovers_the_parameters_of_simulated_trees(true):
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


def test_the_calibrated_probabilities_of_a_sentences_trees_have_the_order_of_their_probabilities():
    parser = random_parser(TREES)
    parser.tree_calibration = TreeCalibration(0.5, 0.2, 1.0, -0.4)
    analysis = parser.analyze(TREES[3].words, k=8)
    calibrated = [alternative.calibrated for alternative in analysis.alternatives]
    assert len(set(calibrated)) == 8 and sorted(calibrated, reverse=True) == calibrated
    assert analysis.calibrated == parser.tree_calibration(analysis.log_prob, len(TREES[3].words))
    assert analysis.calibrated <= calibrated[0]


def test_without_calibration_the_probability_of_a_tree_is_its_own():
    analysis = random_parser(TREES).analyze(TREES[3].words, k=1)
    assert analysis.calibrated == math.exp(analysis.log_prob)
    assert analysis.alternatives[0].calibrated == math.exp(analysis.alternatives[0].log_prob)
