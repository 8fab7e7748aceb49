"""`treecrf train`: trains a parser by a recipe, or on a folder of train, dev and test trees."""

import argparse
import logging
import math
import os
import sys
import time
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from treecrf.config import read_config
from treecrf.corpus.options import check_minimum
from treecrf.corpus.terminal import TerminalBar

if TYPE_CHECKING:
    from treecrf.training import Progress, Recipe, TrainingResult

_REFRESH_SECONDS = 0.1  # between two updates of the progress bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    recipe_help = (
        "a .toml file with [data], [model] and [train], or a folder with train.mrg, dev.mrg and test.mrg, whose "
        "settings are chosen by the number of trees"
    )
    add("recipe", type=Path, metavar="RECIPE", help=recipe_help)
    add("settings", nargs="*", metavar="KEY=VALUE", help="replaces a setting of the recipe, such as train.seed=3")
    output_help = "folder of the parser and the training run (with --from: MODEL-adapted, if there is none)"
    add("-o", "--output", type=Path, metavar="FOLDER", help=output_help)
    from_help = (
        "adapt a model to your trees instead: the arguments are then files of full trees, partial trees (.txt, .jsonl) "
        "or folders of treecrf annotate"
    )
    add("--from", dest="base", metavar="MODEL", help=from_help)
    keep_help = "with --from: trees of other text, on which the model must not get worse by more than 0.3 F"
    add("--keep-good-on", nargs="+", default=(), metavar="FILE", help=keep_help)
    add("--resume", action="store_true", help="continue the run in FOLDER, if there is one")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")
    curve_help = "also train on a quarter and on half of the trees, which takes as long again for each"
    add("--learning-curve", action="store_true", help=curve_help)
    folds_help = "cross-validation: train K parsers, each on all trees but a K-th of them, and score the left-out trees"
    add("--folds", type=int, metavar="K", help=folds_help)
    add("--no-calibration", action="store_true", help="leave the probabilities as the training has made them")


def run(args: argparse.Namespace) -> None:
    from treecrf.training import fit
    from treecrf.training.learning_curve import measure_learning_curve

    logging.basicConfig(format="treecrf train: %(message)s")
    if args.base is not None:
        _adapt(args)
        return
    if args.output is None or args.keep_good_on:
        name = "-o FOLDER, the folder of the parser" if args.output is None else "--from MODEL beside --keep-good-on"
        raise ValueError(f"there is no {name}; add it")
    check_minimum(args, folds=3)
    if args.folds and args.learning_curve:
        raise ValueError("--folds and --learning-curve are two ways to train several parsers; choose one")
    for option in ("folds", "learning_curve"):
        if getattr(args, option) and "RANK" in os.environ:
            name = option.replace("_", "-")
            raise ValueError(f"--{name} needs one process; start `treecrf train` without torchrun")
    recipe = _read_recipe(args)
    if args.folds:
        _cross_validate(recipe, args)
        return
    learning_curve: dict[int, float] = {}
    try:
        with closing(ProgressDisplay(epochs=recipe.train.epochs)) as display:
            train = partial(fit, device=args.device, watch=display.update)
            result = train(recipe, args.output, resume=args.resume)
            if args.learning_curve:
                train_share = partial(train, resume=True)
                learning_curve = measure_learning_curve(
                    recipe, args.output, result.dev_f, train=train_share, report=display.print_line
                )
    except (ValueError, OSError) as error:
        if "RANK" not in os.environ:
            raise
        number, total = int(os.environ["RANK"]) + 1, os.environ["WORLD_SIZE"]
        sys.exit(f"treecrf train, process {number} of {total}: {error}")
    if os.environ.get("RANK", "0") == "0":
        _print_result(result, recipe, args, learning_curve)


def _adapt(args: argparse.Namespace) -> None:
    from treecrf.parser import Parser
    from treecrf.training.adaptation.adapt import adapt
    from treecrf.training.adaptation.corrections import Corrections, adopt_labels
    from treecrf.training.adaptation.model import save_adaptation
    from treecrf.training.export.pack import scoring_rules
    from treecrf.trees.treebank import read_trees

    for option in ("folds", "learning_curve", "resume", "no_calibration"):
        if getattr(args, option):
            raise ValueError(f"--{option.replace('_', '-')} is for a recipe; leave it out beside --from")
    parser = Parser.load(args.base, args.device)
    assert parser.folder is not None, "it was loaded from a folder"
    folder = args.output or Path(f"{parser.folder.name}-adapted")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists; remove it, or choose another folder with -o")
    corrections = Corrections.read([args.recipe, *args.settings], parser)
    others = [adopt_labels(tree, parser) for path in args.keep_good_on for tree in read_trees(path)]
    rules = scoring_rules(parser.folder)
    report = partial(print, flush=True)
    result = adapt(parser, corrections, keep_good_on=others, rules=rules, report=report)
    save_adaptation(result, folder)
    print(f"{result.verdict}\n{folder} has the {'adapted model' if result.is_kept else 'model as it was'}")


def _cross_validate(recipe: "Recipe", args: argparse.Namespace) -> None:
    from treecrf.training import fit
    from treecrf.training.cross_validation import PREDICTED, TREES, cross_validate

    with closing(ProgressDisplay(epochs=recipe.train.epochs)) as display:
        train = partial(fit, resume=True, device=args.device, watch=display.update)
        result = cross_validate(recipe, args.output, args.folds, train=train, report=display.print_line)
    low, high = result.interval
    mean = f"{result.mean_f:.2f} (standard deviation {result.deviation:.2f})"
    print(f"F on left-out trees, mean of {args.folds} folds: {mean}")
    print(f"F over all {result.trees:,} trees: {result.f:.2f} (95% interval {low:.1f} to {high:.1f})")
    print(f"trees and predicted trees, line by line: {args.output / TREES}, {args.output / PREDICTED}")


def _read_recipe(args: argparse.Namespace) -> "Recipe":
    from treecrf.training import Recipe
    from treecrf.training.presets import read_folder_recipe

    if args.recipe.is_dir():
        choice = read_folder_recipe(args.recipe, args.settings)
        print(
            f"{choice.trees:,} trees to train on: settings for {choice.preset.replace('-', ' ')} of trees", flush=True
        )
        return choice.recipe
    if not args.recipe.is_file():
        raise FileNotFoundError(
            f"there is no recipe {args.recipe}; expected a .toml file with the tables [data], [model] and [train], or "
            "a folder with train.mrg, dev.mrg and test.mrg"
        )
    return read_config(Recipe, args.recipe, args.settings)


class ProgressDisplay(TerminalBar):
    """Prints a line for each epoch and, on a terminal, shows a progress bar below the lines."""

    def __init__(self, *, epochs: int) -> None:
        super().__init__(1, "{desc} {bar} {n_fmt}/{total_fmt}{postfix}")
        self._epochs = epochs
        self._refreshed = 0.0

    def update(self, progress: "Progress") -> None:
        """Updates the progress bar, and prints the metrics record of this report, if there is one."""
        if progress.record or time.monotonic() - self._refreshed > _REFRESH_SECONDS:
            title = f"epoch {progress.epoch}/{self._epochs}"
            self.show(progress.batch, progress.batches, _format_progress(progress), title=title)
            self._refreshed = time.monotonic()
        line = _format_record(progress)
        if line:
            self.print_line(line)

    def print_line(self, line: str) -> None:
        """Prints a line above the progress bar, if there is one."""
        self.print_message(partial(print, flush=True), line)


def _format_progress(progress: "Progress") -> str:
    parts = [f"loss {progress.loss:.3f}"] if math.isfinite(progress.loss) else []
    if progress.best_f >= 0:
        parts.append(f"best dev F {progress.best_f:.2f}")
    if math.isfinite(progress.sentences_per_second):
        parts.append(f"{progress.sentences_per_second:,.0f} sentences/s")
    if math.isfinite(progress.seconds_left):
        parts.append(f"{timedelta(seconds=round(progress.seconds_left))} left")
    return ", ".join(parts)


def _format_record(progress: "Progress") -> str:
    record = progress.record
    if record is None:
        return ""
    if record["event"] == "start":
        return (
            f"{record['train']:,} sentences to train on, {record['dev']:,} to choose by; {record['weights']:,} weights"
        )
    if record["event"] == "epoch":
        mark = "*" if record["best"] else " "
        scores = f"dev P {record['dev_p']:.2f} R {record['dev_r']:.2f} F {record['dev_f']:.2f}{mark}"
        speed = f"{record['sentences_per_second']:,.0f} sentences/s"
        return f"epoch {record['epoch']:4}  loss {record['loss']:.4f}  {scores}  {speed}"
    return ""


def _print_result(
    result: "TrainingResult", recipe: "Recipe", args: argparse.Namespace, learning_curve: dict[int, float]
) -> None:
    from treecrf.training.report import REPORT, write_report

    folder: Path = args.output
    print(f"best on dev: epoch {result.best_epoch}, F {result.dev_f:.2f}; saved in {folder}")
    test_trees = result.test_trees
    if recipe.model.is_crf and not args.no_calibration:
        _calibrate(folder, recipe, args)
        test_trees = None  # the calibrated parser has other trees
    for line in write_report(folder, device=args.device, learning_curve=learning_curve, test_trees=test_trees):
        print(line)
    print(f"report with curve, errors and examples: {folder / REPORT}")


def _calibrate(folder: Path, recipe: "Recipe", args: argparse.Namespace) -> None:
    from treecrf.training.calibration.report import calibrate_folder, is_calibrated
    from treecrf.training.checkpoint import read_rules
    from treecrf.trees.treebank import read_trees

    if args.resume and is_calibrated(folder):
        return  # a finished run that has found no better epoch
    dev = [tree for path in recipe.data.dev for tree in read_trees(path)]
    report = calibrate_folder(folder, dev, rules=read_rules(folder, recipe), device=args.device)
    error = report.reliability["labeled"].error
    print(f"calibrated on dev: error of the probabilities of constituents there {error:.3f}")
