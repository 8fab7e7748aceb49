"""`treecrf calibrate`: calibrates a model's probabilities on a development set."""

import argparse
from pathlib import Path

_NOTES = """\
There are three steps. Temperature scaling divides the scores of spans and of labels by a temperature each; the
temperatures become part of the weights. The threshold of expected-F1 decoding is set to the value with the best F. Beta
calibration corrects the probabilities of constituents with three parameters. Threshold and parameters are saved in
config.toml.
The error is the expected calibration error: the mean difference between the probability and the share of correct
predictions.

example:
  treecrf calibrate runs/en data/masc/dev.mrg.gz data/mctb/dev.mrg.gz --test data/masc/test.mrg.gz -o runs/en-calibrated
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `treecrf calibrate`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _NOTES
    add = parser.add_argument
    add("model", metavar="MODEL", help="an embedded model or a folder")
    add("dev", nargs="+", metavar="DEV", help="gold trees to calibrate on, which the model was not trained on")
    add("--test", action="append", metavar="FILE", help="gold trees to measure the error on (default: DEV)")
    add("-o", "--output", type=Path, metavar="FOLDER", help="folder for the calibrated model")
    add("--plot", type=Path, metavar="FILE", help="plot a reliability diagram: .svg, .png or .pdf")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")


def run(args: argparse.Namespace) -> None:
    """Calibrates a model and prints the calibration error before and after."""
    from treecrf.calibration import KINDS, calibrate, measure
    from treecrf.calibration.io import save_calibrated
    from treecrf.calibration.plot import plot_reports
    from treecrf.parser import Parser
    from treecrf.treebank import read_trees

    if args.output and args.output.exists() and not args.output.is_dir():
        raise ValueError(f"{args.output} is not a folder; name a folder for the calibrated model")
    parser = Parser.load(args.model, args.device, precision="float32")
    dev, test = ([tree for name in names for tree in read_trees(name)] for names in (args.dev, args.test or args.dev))
    before = measure(parser, test)
    parameters = calibrate(parser, dev, find_threshold=True)
    after = measure(parser, test)
    if args.output:
        save_calibrated(args.model, args.output, parser, parameters, before=before, after=after)
    if args.plot:
        plot_reports({"before": before, "after": after}, args.plot)
    (spans, labels), f1_threshold, (a, b, c) = parameters
    print(f"temperatures: spans {spans:.3f}, labels {labels:.3f}; F1 threshold: {f1_threshold:.3f}")
    print(f"beta calibration: a {a:.3f}, b {b:.3f}, c {c:+.3f}")
    print(f"fitted on {len(dev):,} sentences")
    print(f"{'error on ' + ('test' if args.test else 'the same sentences'):27} {'before':>8} {'after':>8} {'of':>9}")
    for kind, title in KINDS.items():
        old, new = before.reliability[kind], after.reliability[kind]
        print(f"{title:27} {old.error:8.4f} {new.error:8.4f} {new.predictions:9,}")
