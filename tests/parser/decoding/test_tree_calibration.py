import math

from small import FIFTY, random_parser
from treecrf import read_trees
from treecrf.parser.decoding.tree_calibration import TreeCalibration

TREES = list(read_trees(FIFTY))


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
