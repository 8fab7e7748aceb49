"""Forms of calibration, compared on development trees: fitted to some files, measured on others.

    python benchmarks/calibration_forms.py --model en --fit masc/dev.mrg.gz mctb/dev.mrg.gz --test genia/dev.mrg.gz

A form is a logistic regression of the correctness of constituents or of whole trees on some functions of their
probability p, of the number of words n, and of the label. Prints the log loss in nats and the expected calibration
error on the test files. Temperatures and the F1 threshold are those of the model.
"""

import argparse
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from treecrf.parser import Parser
from treecrf.parser.decoding.beta_calibration import BetaCalibration
from treecrf.parser.decoding.tree_calibration import TreeCalibration
from treecrf.training.calibration import collect_predictions
from treecrf.training.calibration.beta import fit_logistic
from treecrf.training.calibration.breakdown import frequent_labels
from treecrf.training.calibration.predictions import Predictions
from treecrf.training.calibration.reliability import FloatArray, reliability
from treecrf.trees.treebank import read_trees

CONSTITUENT_FORMS = {
    "none": (),
    "log-odds": ("log p - log(1 - p)", "1"),
    "beta calibration": ("log p", "-log(1 - p)", "1"),
    "beta calibration, weight of rare labels": ("log p", "-log(1 - p)", "1", "is rare"),
}
TREE_FORMS = {
    "none": (),
    "log p": ("log p", "1"),
    "beta calibration": ("log p", "-log(1 - p)", "1"),
    "beta calibration, n": ("log p", "-log(1 - p)", "1", "n"),
    "beta calibration, log n": ("log p", "-log(1 - p)", "1", "log n"),
}
_MIN_LOG_PROB, _MAX_LOG_PROB = -1e3, -1e-6


class Sample(NamedTuple):
    """Predictions of one kind: functions of their probabilities and sentences by name, and their correctness."""

    features: dict[str, FloatArray]
    is_correct: list[bool]


def constituent_sample(predictions: Predictions, frequent: Collection[str]) -> Sample:
    """The labeled constituents; a label that is not in `frequent` is rare."""
    p = np.asarray(predictions.labeled.probabilities).clip(1e-300, 1.0)
    is_rare = np.array([label not in frequent for label in predictions.labels], float)
    return Sample({**_functions_of(np.log(p)), "is rare": is_rare}, predictions.labeled.is_correct)


def tree_sample(predictions: Predictions) -> Sample:
    """The whole trees."""
    words = np.asarray(predictions.words, float)
    functions = _functions_of(np.asarray(predictions.tree_log_probs))
    return Sample({**functions, "n": words, "log n": np.log(words)}, predictions.trees.is_correct)


def _functions_of(log_probs: FloatArray) -> dict[str, FloatArray]:
    log_p = log_probs.clip(_MIN_LOG_PROB, _MAX_LOG_PROB)
    log_not_p = np.log(-np.expm1(log_p))
    return {
        "1": np.ones_like(log_p),
        "log p": log_p,
        "-log(1 - p)": -log_not_p,
        "log p - log(1 - p)": log_p - log_not_p,
    }


def print_forms(title: str, forms: Mapping[str, Sequence[str]], fit: Sample, test: Sample) -> None:
    """Prints a table of forms with their weights, and their log loss and calibration error on the test trees."""
    print(f"\n| {title} | weights | log loss | error |\n| --- | --- | --- | --- |")
    for name, terms in forms.items():
        probabilities, weights = np.exp(test.features["log p"]), np.zeros(0)
        if terms:
            matrix, test_matrix = (np.stack([sample.features[term] for term in terms], 1) for sample in (fit, test))
            weights = fit_logistic(matrix, np.asarray(fit.is_correct, float), start=np.zeros(len(terms)))
            probabilities = 1 / (1 + np.exp(-(test_matrix @ weights)))
        result = reliability(probabilities, test.is_correct)
        numbers = " ".join(f"{weight:.2f}" for weight in weights)
        print(f"| {name} | {numbers} | {result.log_loss:.4f} | {result.error:.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en", metavar="M", help="an installed model or a folder")
    parser.add_argument("--fit", nargs="+", required=True, metavar="FILE", help="trees to fit to")
    parser.add_argument("--test", nargs="+", required=True, metavar="FILE", help="trees to measure on")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N trees of each file")
    args = parser.parse_args()
    model = Parser.load(args.model, "cpu")
    model.calibration, model.tree_calibration = BetaCalibration(), TreeCalibration()
    fit_trees, test_trees = (
        [tree for path in paths for tree in islice(read_trees(path), args.limit)] for paths in (args.fit, args.test)
    )
    fit, test = collect_predictions(model, fit_trees), collect_predictions(model, test_trees)
    print(f"fitted to {len(fit_trees):,} sentences, measured on {len(test_trees):,}")
    frequent = frequent_labels(fit_trees)
    samples = [constituent_sample(predictions, frequent) for predictions in (fit, test)]
    print_forms("constituents", CONSTITUENT_FORMS, *samples)
    print_forms("whole trees", TREE_FORMS, tree_sample(fit), tree_sample(test))


if __name__ == "__main__":
    main()
