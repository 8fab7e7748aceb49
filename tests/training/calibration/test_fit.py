from dataclasses import replace
from types import SimpleNamespace

import pytest

from small import FIFTY, random_parser
from treecrf import evaluate, read_trees
from treecrf.parser.decoding.calibration import TreeCalibration
from treecrf.training.calibration import calibrate, fit, measure
from treecrf.training.calibration.fit import f1_optimal_threshold
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
