from small import FIFTY, random_parser
from treecrf import read_trees
from treecrf.training.calibration import collect_predictions
from treecrf.training.calibration.breakdown import break_down, frequent_labels, to_markdown
from treecrf.training.calibration.reliability import dev_thresholds

TREES = list(read_trees(FIFTY))


def test_a_breakdown_has_the_constituents_of_frequent_and_rare_labels():
    parser = random_parser(TREES)
    predictions = collect_predictions(parser, TREES)
    frequent = frequent_labels(TREES, count=2)
    assert frequent == {"NP", "VP"}
    thresholds = dev_thresholds(predictions, 0.5)
    row = break_down("fifty", predictions, frequent=frequent, thresholds=thresholds)
    labels = [label for label, _, _ in predictions.constituents]
    assert row.frequent.predictions == sum(label in frequent for label in labels)
    assert row.frequent.predictions + row.rare.predictions == row.constituents.predictions == len(labels)
    assert row.trees.predictions == row.sentences == len(TREES) > 0 < row.trees_by_chance
    assert all(selection.precision >= 0.5 for selection in row.selections.values())
    assert row.selections.keys() == {"labeled", "sentences", "trees"}
    errors, coverage = (table.splitlines() for table in to_markdown([row], precision=0.5).split("\n\n"))
    assert len({line.count("|") for line in errors}) == len({line.count("|") for line in coverage}) == 1
    assert f"{row.constituents.error:.4f} (" in errors[2] and "50 %" in coverage[0]
