import random

import pytest

from small import FIFTY, random_parser
from treecrf import evaluate, read_trees
from treecrf.calibration import calibrate, measure
from treecrf.calibration.adjustment import best_price, fit_curve
from treecrf.calibration.reliability import reliability

TREES = list(read_trees(FIFTY))


def test_a_curve_undoes_what_bent_the_probabilities():
    draw = random.Random(1)
    truth = [draw.random() for _ in range(20_000)]
    right = [draw.random() < probability for probability in truth]
    said = [odds**2 / (1 + odds**2) for odds in (probability / (1 - probability) for probability in truth)]
    curve = fit_curve(said, right)
    assert curve.slope == pytest.approx(0.5, abs=0.03) and curve.offset == pytest.approx(0, abs=0.05)
    assert reliability(said, right).error > 0.08
    assert reliability(list(map(curve, said)), right).error < 0.02


@pytest.mark.parametrize(("said", "right"), [([], []), ([0.5], [True]), ([0.2, 0.8], [True, False])])
def test_too_little_to_go_by_bends_nothing_over(said, right):
    assert fit_curve(said, right).slope > 0


def test_a_calibrated_parser_says_what_comes_true():
    parser = random_parser(TREES)
    before = measure(parser, TREES)
    adjustment = calibrate(parser, TREES)
    after = measure(parser, TREES)
    assert parser.certainty == adjustment.curve
    assert after.labelled.error < before.labelled.error and after.labelled.log_loss < before.labelled.log_loss


def test_the_price_is_the_one_with_the_best_f():
    parser = random_parser(TREES)
    words = [tree.words for tree in TREES]
    scores = {}
    for price in (0.0, 0.2, 0.9):
        parser.price = price
        scores[price] = evaluate(TREES, parser.parse_many(words, tags=[tree.tags for tree in TREES])).f1
    parser.price = 0.5
    best = best_price(parser, TREES, tuple(scores))
    assert scores[best] == max(scores.values()) > min(scores.values()) and parser.price == 0.5
    assert calibrate(parser, TREES).price == 0.5
    assert calibrate(parser, TREES, prices=[0.25]).price == parser.price == 0.25
