import math
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from small import FIFTY, random_parser
from treecrf import evaluate, read_trees
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.training.calibration import calibrate, fit, measure
from treecrf.training.calibration.fit import f1_optimal_threshold, fit_beta, fit_tree_calibration
from treecrf.training.calibration.reliability import reliability
from treecrf.trees.evalb import COLLINS

TREES = list(read_trees(FIFTY))


def test_calibration_lowers_the_calibration_error():
    parser = random_parser(TREES)
    before = measure(parser, TREES).reliability["labeled"]
    parameters = calibrate(parser, TREES)
    after = measure(parser, TREES).reliability["labeled"]
    assert parser.calibration == parameters.beta and parser.tree_calibration == parameters.trees
    assert after.error < before.error and after.log_loss < before.log_loss


def test_with_keep_weights_only_probabilities_change():
    parser = random_parser(TREES)
    weights = {name: weight.clone() for name, weight in parser.model.state_dict().items()}
    parameters = calibrate(parser, TREES, keep_weights=True)
    assert parameters.temperatures == (1.0, 1.0) and parameters.trees != TreeCalibration()
    assert all(weights[name].equal(weight) for name, weight in parser.model.state_dict().items())


def test_the_calibration_of_trees_lowers_their_error():
    parser = random_parser(TREES)
    before = measure(parser, TREES).reliability["trees"]
    calibrate(parser, TREES, keep_weights=True)
    after = measure(parser, TREES).reliability["trees"]
    assert after.log_loss < before.log_loss and after.error <= before.error


def test_optimal_threshold_is_half_of_the_resulting_f1():
    parser = random_parser(TREES)
    words, tags = [tree.words for tree in TREES], [tree.tags for tree in TREES]
    parser.f1_threshold = 0.9
    optimal = f1_optimal_threshold(parser, TREES)
    assert parser.f1_threshold == 0.9
    scores = {}
    for threshold in (0.0, optimal, 0.9):
        parser.f1_threshold = threshold
        scores[threshold] = evaluate(TREES, parser.parse_many(words, tags=tags)).f1
    assert optimal == pytest.approx(scores[optimal] / 200, abs=0.01)
    assert scores[optimal] == max(scores.values()) > min(scores.values())
    assert calibrate(parser, TREES).f1_threshold == 0.9
    assert 0 < calibrate(parser, TREES, find_threshold=True).f1_threshold == parser.f1_threshold < 0.5


def test_the_threshold_is_half_of_the_f1_of_the_treebanks_own_rules():
    parser = random_parser(TREES)
    words, tags = [tree.words for tree in TREES], [tree.tags for tree in TREES]
    rules = replace(COLLINS, delete_labels=COLLINS.delete_labels | {"NP"})
    thresholds = [f1_optimal_threshold(parser, TREES, rules=each) for each in (COLLINS, rules)]
    assert thresholds[0] != thresholds[1]
    parser.f1_threshold = thresholds[1]
    f1 = evaluate(TREES, parser.parse_many(words, tags=tags), rules=rules).f1
    assert thresholds[1] == pytest.approx(f1 / 200, abs=0.01)


def test_threshold_is_0_if_the_papers_mbr_has_a_higher_f1(monkeypatch):
    parser = random_parser(TREES)
    f1s = iter([50.0, 40.0, 40.0])
    monkeypatch.setattr(fit, "evaluate", lambda *_, **__: SimpleNamespace(f1=next(f1s)))
    assert f1_optimal_threshold(parser, TREES) == 0.0


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
