"""`treecrf calibrate`: calibrates a model's probabilities on a development set."""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from treecrf.corpus.options import check_minimum

if TYPE_CHECKING:
    from treecrf.parser import Parser
    from treecrf.training.calibration import CalibrationParameters, CalibrationReport
    from treecrf.training.calibration.predictions import Predictions
    from treecrf.trees.tree import Tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="an installed model or a folder")
    add("dev", nargs="+", metavar="DEV", help="gold trees to calibrate on, which the model was not trained on")
    add("--limit", type=int, metavar="N", help="only the first N trees of each DEV, so that no treebank dominates")
    add("--test", action="append", metavar="FILE", help="gold trees to measure the error on (default: DEV)")
    add("-o", "--output", type=Path, metavar="FOLDER", help="folder for the calibrated model")
    add("--keep-weights", action="store_true", help="no temperatures: for packed models, whose weights are in 8 bits")
    add("--only-measure", action="store_true", help="calibrate nothing: measure the model as it is")
    add("--rules", metavar="RULES", help="EVALB rules for the F1 threshold (default: the rules of the training run)")
    precision_help = "precision at which the coverage is measured (default: %(default)s)"
    add("--target-precision", type=float, default=0.97, metavar="P", help=precision_help)
    add("--plot", type=Path, metavar="FILE", help="plot a reliability diagram: .svg, .png or .pdf")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")


def run(args: argparse.Namespace) -> None:
    from treecrf.parser import Parser
    from treecrf.training.calibration import collect_predictions, measure, summarize
    from treecrf.training.calibration.predictions import Predictions
    from treecrf.training.calibration.report import plot_reports, save_calibrated
    from treecrf.trees.treebank import read_trees

    _check(args)
    has_new_weights = not (args.keep_weights or args.only_measure)
    parser = Parser.load(args.model, args.device, precision="float32" if has_new_weights else None)
    dev = [tree for name in args.dev for tree in islice(read_trees(name), args.limit)]
    names = _part_names(args.test or [])
    tests = {name: list(read_trees(path)) for path, name in names.items()} if args.test else {"dev": dev}
    reports = {}
    if not args.only_measure:
        reports["before"] = measure(parser, [tree for trees in tests.values() for tree in trees])
        parameters = _calibrate(args, parser, dev)
    predictions = {name: collect_predictions(parser, trees) for name, trees in tests.items()}
    reports["after"] = summarize(sum(predictions.values(), Predictions()))
    if args.output:
        save_calibrated(args.model, args.output, parser, parameters, **reports, keep_weights=args.keep_weights)
    if args.plot:
        plot_reports(reports, args.plot)
    _print_errors(reports, "test" if args.test else "the same sentences")
    dev_predictions = collect_predictions(parser, dev) if args.test else predictions["dev"]
    _print_treebanks(predictions, dev, dev_predictions, args.target_precision)


def _check(args: argparse.Namespace) -> None:
    if args.output and args.output.exists() and not args.output.is_dir():
        raise ValueError(f"{args.output} is not a folder; name a folder for the calibrated model")
    if args.only_measure and (args.output or args.keep_weights or args.rules):
        raise ValueError("--only-measure calibrates nothing; leave out --output, --keep-weights and --rules")
    check_minimum(args, limit=1)
    if not 0 < args.target_precision < 1:
        raise ValueError(
            f"--target-precision is {args.target_precision}; expected a number between 0 and 1, such as 0.97"
        )


def _part_names(paths: Sequence[str]) -> dict[str, str]:
    """A name for each file: its folder and its name without endings, such as masc/test; if not unique, its path."""
    names = {path: "/".join([*Path(path).parts[-2:-1], Path(path.removesuffix(".gz")).stem]) for path in paths}
    counts = Counter(names.values())
    return {path: name if counts[name] == 1 else path for path, name in names.items()}


def _calibrate(args: argparse.Namespace, parser: "Parser", dev: "list[Tree]") -> "CalibrationParameters":
    from treecrf.parser.models import find_folder
    from treecrf.training.calibration import calibrate
    from treecrf.training.export.pack import scoring_rules
    from treecrf.trees.evalb import find_rules

    rules = find_rules(args.rules) if args.rules else scoring_rules(find_folder(args.model))
    parameters = calibrate(parser, dev, find_threshold=True, keep_weights=args.keep_weights, rules=rules)
    (spans, labels), f1_threshold, (a, b, c), trees = parameters
    print(f"temperatures: spans {spans:.3f}, labels {labels:.3f}; F1 threshold: {f1_threshold:.3f}")
    print(f"beta calibration: a {a:.3f}, b {b:.3f}, c {c:+.3f}")
    print(f"calibration of trees: a {trees.a:.3f}, b {trees.b:.3f}, c {trees.c:+.3f}, d {trees.d:+.3f}")
    print(f"fitted on {len(dev):,} sentences")
    return parameters


def _print_errors(reports: "Mapping[str, CalibrationReport]", sentences: str) -> None:
    from treecrf.training.calibration import KINDS

    print(f"{'error on ' + sentences:27} {' '.join(f'{name:>8}' for name in reports)} {'of':>9}")
    for kind, title in KINDS.items():
        errors = " ".join(f"{report.reliability[kind].error:8.4f}" for report in reports.values())
        print(f"{title:27} {errors} {reports['after'].reliability[kind].predictions:9,}")


def _print_treebanks(
    tests: "Mapping[str, Predictions]", dev: "list[Tree]", dev_predictions: "Predictions", precision: float
) -> None:
    from treecrf.training.calibration.breakdown import break_down, frequent_labels, to_markdown
    from treecrf.training.calibration.predictions import Predictions
    from treecrf.training.calibration.reliability import dev_thresholds

    frequent, thresholds = frequent_labels(dev), dev_thresholds(dev_predictions, precision)
    parts = dict(tests)
    if len(tests) > 1:
        parts["all"] = sum(tests.values(), Predictions())
    rows = [break_down(name, part, frequent=frequent, thresholds=thresholds) for name, part in parts.items()]
    print("\n" + to_markdown(rows, precision=precision), end="")
