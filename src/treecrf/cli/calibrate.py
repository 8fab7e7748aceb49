"""`treecrf calibrate`: a model whose probabilities come true."""

import argparse
from pathlib import Path

_NOTES = """\
Scores are divided by two temperatures, one for spans and one for labels, found on dev trees; they become part of the
weights, so whatever uses the model has them. Then a price is found: MBR looks for the tree whose constituents'
probabilities, each less the price, add up to the most, which lifts F. Last, probabilities of constituents, as analyses
tell them, are bent by a curve with three numbers. Price and curve are kept in config.toml.
The error is the expected calibration error: how far, on average, a probability is from the share that is right.

example:
  treecrf calibrate runs/en data/masc/dev.mrg.gz data/mctb/dev.mrg.gz --test data/masc/test.mrg.gz -o runs/en-calibrated
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf calibrate`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _NOTES
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model that came with treecrf, or a folder")
    add("dev", nargs="+", metavar="DEV", help="gold trees that it was not trained on, to find temperatures with")
    add("--test", action="append", metavar="FILE", help="gold trees to measure with; DEV itself where there are none")
    add("-o", "--output", type=Path, metavar="FOLDER", help="for the calibrated model")
    add("--plot", type=Path, metavar="FILE", help="a picture of reliability, as .svg, .png or .pdf")
    add("--device", metavar="D", help="cpu, cuda, cuda:1, ...; a GPU if there is one")


def run(args: argparse.Namespace) -> None:
    """Calibrate a model, and print how far probability and truth are apart, before and after."""
    from treecrf.calibration import KINDS, calibrate, measure
    from treecrf.calibration.io import save_calibrated
    from treecrf.calibration.plot import plot_reports
    from treecrf.parser import Parser
    from treecrf.treebank import read_trees

    if args.output and args.output.exists() and not args.output.is_dir():
        raise ValueError(f"{args.output} is no folder; name one for the calibrated model")
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
        was, now = before.reliability[kind], after.reliability[kind]
        print(f"{title:27} {was.error:8.4f} {now.error:8.4f} {now.predictions:9,}")
