import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import FIFTY, random_parser
from treecrf import Constraints, Parser, read_trees
from treecrf.decoding.beta_calibration import BetaCalibration

TREES = list(read_trees(FIFTY))
WORDS = TREES[3].words


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 4), st.floats(0.1, 4), st.floats(-4, 4))
def test_a_curve_keeps_the_order_and_the_range(one, other, pro, con, offset):
    curve = BetaCalibration(pro, con, offset)
    low, high = curve(min(one, other)), curve(max(one, other))
    assert 0 <= low <= 1 and 0 <= high <= 1
    if min(one, other) > 1e-5 and max(one, other) < 1 - 1e-5:
        assert low <= high + 1e-12


def test_what_is_certain_stays_certain():
    assert BetaCalibration(offset=-3.0)(1.0) == 1.0 and BetaCalibration(offset=3.0)(0.0) == 0.0


def test_a_parser_tells_probabilities_by_its_curve_and_keeps_it(tmp_path):
    parser = random_parser(TREES)
    plain = parser.analyze(WORDS, k=2)
    parser.calibration = BetaCalibration(0.5, 0.75, 0.25)
    parser.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model", "cpu", precision="float32")
    for told in (parser.analyze(WORDS, k=2), loaded.analyze(WORDS, k=2)):
        assert told.tree == plain.tree and told.log_prob == pytest.approx(plain.log_prob, rel=1e-5)
        for mine, theirs in zip(told.constituents, plain.constituents, strict=True):
            assert mine.probability == pytest.approx(parser.calibration(theirs.probability), abs=1e-5)
        for mine, theirs in zip(told.alternatives[1].constituents, plain.alternatives[1].constituents, strict=True):
            assert mine.probability == pytest.approx(parser.calibration(theirs.probability), abs=1e-5)


def test_what_was_required_is_still_certain():
    parser = random_parser(TREES)
    parser.calibration = BetaCalibration(0.5, 0.5, -1.0)
    told = parser.analyze(WORDS, constraints=Constraints(require=[(0, 2, "NP")]))
    (found,) = [given for given in told.constituents if (given.start, given.end, given.label) == (0, 2, "NP")]
    assert found.probability == pytest.approx(1.0, abs=1e-5)
