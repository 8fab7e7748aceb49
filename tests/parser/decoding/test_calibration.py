import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import FIFTY, random_parser
from treecrf import Constraints, Parser, read_trees
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration

TREES = list(read_trees(FIFTY))
WORDS = TREES[3].words


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 4), st.floats(0.1, 4), st.floats(-4, 4))
def test_calibration_keeps_the_order_and_the_range(one, other, a, b, c):
    calibrate = BetaCalibration(a, b, c)
    low, high = calibrate(min(one, other)), calibrate(max(one, other))
    assert 0 <= low <= 1 and 0 <= high <= 1
    if min(one, other) > 1e-5 and max(one, other) < 1 - 1e-5:
        assert low <= high + 1e-12


def logistic(log_odds):
    return 1 / (1 + math.exp(-log_odds))


@pytest.mark.parametrize("probability", [1e-4, 0.3, 0.9])
@pytest.mark.parametrize("c", [-1.0, 3.0])
def test_calibration_is_linear_in_the_logarithms_of_a_probability_and_its_complement(probability, c):
    log_odds = 0.5 * math.log(probability) - 2 * math.log(1 - probability) + c
    assert BetaCalibration(0.5, 2.0, c)(probability) == pytest.approx(logistic(log_odds))
    assert TreeCalibration(0.5, 2.0, c)(math.log(probability), 9) == pytest.approx(logistic(log_odds))
    with_length = TreeCalibration(0.5, 2.0, c, -0.7)(math.log(probability), 9)
    assert with_length == pytest.approx(logistic(log_odds - 0.7 * math.log(9)))
    assert BetaCalibration()(probability) == probability
    assert TreeCalibration(d=0.5)(math.log(probability), 1) == pytest.approx(probability)
    assert BetaCalibration(c=1.0)(probability) == pytest.approx(
        logistic(math.log(probability / (1 - probability)) + 1.0)
    )


def test_certain_probabilities_stay_certain():
    assert BetaCalibration(c=-3.0)(1.0) == 1.0 and BetaCalibration(c=3.0)(0.0) == 0.0
    assert TreeCalibration(c=-3.0)(0.0, 5) == 1.0 and TreeCalibration(c=3.0)(-math.inf, 5) == 0.0


def test_a_parser_calibrates_probabilities_and_saves_the_calibration(tmp_path):
    parser = random_parser(TREES)
    plain = parser.analyze(WORDS, k=2)
    parser.calibration = BetaCalibration(0.5, 0.75, 0.25)
    parser.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model", "cpu", precision="float32")
    for analysis in (parser.analyze(WORDS, k=2), loaded.analyze(WORDS, k=2)):
        assert analysis.tree == plain.tree and analysis.log_prob == pytest.approx(plain.log_prob, rel=1e-5)
        for calibrated, raw in zip(analysis.constituents, plain.constituents, strict=True):
            assert calibrated.probability == pytest.approx(raw.probability, abs=1e-5)
            assert calibrated.calibrated == pytest.approx(parser.calibration(raw.probability), abs=1e-5)
        for calibrated, raw in zip(
            analysis.alternatives[1].constituents, plain.alternatives[1].constituents, strict=True
        ):
            assert calibrated.probability == pytest.approx(raw.probability, abs=1e-5)
            assert calibrated.calibrated == pytest.approx(parser.calibration(raw.probability), abs=1e-5)


def test_a_required_constituent_stays_certain():
    parser = random_parser(TREES)
    parser.calibration = BetaCalibration(0.5, 0.5, -1.0)
    analysis = parser.analyze(WORDS, constraints=Constraints(require=[(0, 2, "NP")]))
    (required,) = [c for c in analysis.constituents if (c.start, c.end, c.label) == (0, 2, "NP")]
    assert required.probability == required.calibrated == pytest.approx(1.0, abs=1e-5)


def test_the_calibrated_probabilities_of_a_sentences_trees_have_the_order_of_their_probabilities():
    parser = random_parser(TREES)
    parser.tree_calibration = TreeCalibration(0.5, 0.2, 1.0, -0.4)
    analysis = parser.analyze(TREES[3].words, k=8)
    by_probability = sorted(analysis.alternatives, key=lambda alternative: -alternative.log_prob)
    calibrated = [alternative.calibrated for alternative in by_probability]
    assert len(set(calibrated)) == 8 and sorted(calibrated, reverse=True) == calibrated
    assert analysis.calibrated == parser.tree_calibration(analysis.log_prob, len(TREES[3].words))
    assert analysis.calibrated <= calibrated[0]


def test_without_calibration_the_probability_of_a_tree_is_its_own():
    analysis = random_parser(TREES).analyze(TREES[3].words, k=1)
    assert analysis.calibrated == math.exp(analysis.log_prob)
    assert analysis.alternatives[0].calibrated == math.exp(analysis.alternatives[0].log_prob)
