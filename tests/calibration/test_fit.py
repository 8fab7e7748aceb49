import random
from types import SimpleNamespace

import pytest

from small import FIFTY, random_parser
from treecrf import evaluate, read_trees
from treecrf.calibration import calibrate, fit, measure
from treecrf.calibration.fit import f1_optimal_threshold, fit_beta
from treecrf.calibration.reliability import reliability
from treecrf.decoding.beta_calibration import BetaCalibration

TREES = list(read_trees(FIFTY))


@pytest.mark.parametrize(
    "bend", [BetaCalibration(0.5, 0.5), BetaCalibration(1.7, 0.7, 0.8), BetaCalibration(0.6, 1.2, -0.3)]
)
def test_a_curve_is_found_from_what_came_true(bend):
    draw = random.Random(1)
    said = [draw.random() for _ in range(200_000)]
    right = [draw.random() < bend(probability) for probability in said]
    curve = fit_beta(said, right)
    assert list(curve) == pytest.approx(list(bend), abs=0.05)
    assert reliability(said, right).error > 0.025
    assert reliability(list(map(curve, said)), right).error < 0.01


@pytest.mark.parametrize(
    ("said", "right"),
    [([], []), ([0.5], [True]), ([0.2, 0.8], [True, False]), ([0.1, 0.2, 0.8, 0.9], [True, False, True, True])],
)
def test_too_little_to_go_by_bends_nothing_over(said, right):
    curve = fit_beta(said, right)
    assert curve.pro > 0 and curve.con > 0


def test_a_calibrated_parser_says_what_comes_true():
    parser = random_parser(TREES)
    before = measure(parser, TREES)
    done = calibrate(parser, TREES)
    after = measure(parser, TREES)
    assert parser.calibration == done.curve
    assert after.labelled.error < before.labelled.error and after.labelled.log_loss < before.labelled.log_loss


def test_a_fair_price_is_half_of_the_f_that_it_brings():
    parser = random_parser(TREES)
    words, tags = [tree.words for tree in TREES], [tree.tags for tree in TREES]
    parser.f1_threshold = 0.9
    price = f1_optimal_threshold(parser, TREES)
    assert parser.f1_threshold == 0.9
    scores = {}
    for some in (0.0, price, 0.9):
        parser.f1_threshold = some
        scores[some] = evaluate(TREES, parser.parse_many(words, tags=tags)).f1
    assert price == pytest.approx(scores[price] / 200, abs=0.01)
    assert scores[price] == max(scores.values()) > min(scores.values())
    assert calibrate(parser, TREES).price == 0.9
    assert 0 < calibrate(parser, TREES, find_threshold=True).price == parser.f1_threshold < 0.5


def test_where_the_papers_mbr_is_better_there_is_no_price(monkeypatch):
    parser = random_parser(TREES)
    found = iter([50.0, 40.0, 40.0])
    monkeypatch.setattr(fit, "evaluate", lambda *_, **__: SimpleNamespace(f1=next(found)))
    assert f1_optimal_threshold(parser, TREES) == 0.0
