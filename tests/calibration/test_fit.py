from small import FIFTY, random_parser
from treecrf import read_trees
from treecrf.calibration import calibrate, measure

TREES = list(read_trees(FIFTY))


def test_calibration_lowers_the_calibration_error():
    parser = random_parser(TREES)
    before = measure(parser, TREES).reliability["labelled"]
    parameters = calibrate(parser, TREES)
    after = measure(parser, TREES).reliability["labelled"]
    assert parser.calibration == parameters.beta
    assert after.error < before.error and after.log_loss < before.log_loss
