from small import FIFTY, random_parser
from treecrf import read_trees
from treecrf.parser.decoding.tree_calibration import TreeCalibration
from treecrf.training.calibration import calibrate, measure

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
