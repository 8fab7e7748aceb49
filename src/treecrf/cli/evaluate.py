"""`treecrf evaluate`: scores predicted trees, or a model's trees, against gold trees, as EVALB does."""

import argparse
import json
import sys
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from treecrf.corpus.inputs import find_inputs, is_json_lines
from treecrf.corpus.terminal import print_message
from treecrf.trees.evalb import Rules, Score, evaluate_lines, find_rules
from treecrf.trees.evalb.brackets import STDIN, printable, read_lines
from treecrf.trees.evalb.full_score import FullScore, score_full_trees
from treecrf.trees.evalb.rules import NAMED
from treecrf.trees.treebank import read_trees

if TYPE_CHECKING:
    from treecrf.trees.treebank.well_formed import WellFormednessComparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("gold", metavar="GOLD", help="gold trees: a file, a folder or a pattern; - is standard input")
    add("predicted", nargs="?", metavar="PREDICTED", help="predicted trees in the same order")
    add("--model", metavar="M", help="parse the words of the gold trees with this model, and score its trees")
    add("--device", metavar="D", help="with --model: cpu, cuda or cuda:N (default: cuda if available)")
    add(
        "--precision",
        choices=("float32", "float16", "int8", "int14"),
        help="with --model float16 is for GPUs, int8 and int14 for CPUs",
    )
    add("--no-mbr", action="store_true", help="with --model: the trees with the best scores instead of MBR decoding")
    rules_help = f"{', '.join(NAMED)} or a parameter file of EVALB (default: %(default)s)"
    add("-p", "--rules", default="collins", metavar="RULES", help=rules_help)
    add("-c", "--cutoff", type=int, metavar="N", help="longest sentence of the second summary")
    add("-e", "--max-error", type=int, metavar="N", help="stop after N + 2 errors, like EVALB")
    add("--keep-going", action="store_true", help="never stop; trees that cannot be read count as errors")
    add("--compare", metavar="OTHER", help="test whether the scores of these predicted trees differ significantly")
    add("--full", action="store_true", help="also score function tags, empty elements and subjects of full trees")
    add("--merge-pro", action="store_true", help="with --full: count the empty elements *PRO* and * as one kind")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--plain", action="store_true", help="print only the lines that EVALB prints")
    output.add_argument("--json", action="store_true", help="print all scores as JSON")


def run(args: argparse.Namespace) -> int:
    _check(args)
    rules = _rules(args)
    score_all = _score_model if args.model else _score_files
    score, all_sentences, well_formedness = score_all(args, rules)
    _print_messages(score)
    other = None
    if args.compare:
        other = evaluate_lines(_lines(args.gold), _lines(args.compare), rules=rules)
        _print_messages(other, f"{args.compare}: ")
    if args.plain or (score.stopped and not args.json):
        sys.stdout.write(str(score))
    else:
        full = _score_full(args, rules) if args.full else None
        _print_report(score, other, all_sentences, well_formedness, full, as_json=args.json)
    if score.stopped:
        print(f"stopped at sentence {score.stopped.sentence}, as EVALB does; --keep-going continues", file=sys.stderr)
    return 1 if score.stopped else 0


def _check(args: argparse.Namespace) -> None:
    if (args.predicted is None) == (args.model is None):
        raise ValueError("expected either a file of predicted trees or --model M, which predicts them")
    if args.gold == args.predicted == STDIN:
        raise ValueError("gold and predicted trees are both standard input; name a file for one of them")
    if STDIN in (args.gold, args.predicted) and args.full:
        raise ValueError("--full reads the trees twice, which standard input does not allow; name files")
    if args.gold == STDIN and args.compare:
        raise ValueError("--compare reads the gold trees twice, which standard input does not allow; name a file")
    if args.model is None and (args.device or args.precision or args.no_mbr):
        raise ValueError("--device, --precision and --no-mbr need a model; add --model M")
    if args.merge_pro and not args.full:
        raise ValueError("--merge-pro is about empty elements; add --full")
    if args.full and args.plain:
        raise ValueError(
            "--plain prints only the lines of EVALB, which has no scores for --full; leave out one of them"
        )
    if args.full and args.model:
        raise ValueError("--full scores files of trees with functions and empty elements; give a file PREDICTED")


def _rules(args: argparse.Namespace) -> Rules:
    changes = {name: getattr(args, name) for name in ("cutoff", "max_error") if getattr(args, name) is not None}
    rules = replace(find_rules(args.rules), **changes)
    # EVALB counts wrong tags of punctuation as errors, and a model makes more of them in a large file than EVALB allows
    keeps_going = args.keep_going or (args.model and args.max_error is None)
    return replace(rules, max_error=None) if keeps_going else rules


def _score_files(args: argparse.Namespace, rules: Rules) -> tuple[Score, Score | None, None]:
    """EVALB's score of a file of trees, and the score over all sentences if EVALB leaves out some."""
    gold, predicted = _lines(args.gold), _lines(args.predicted)
    score = evaluate_lines(gold, predicted, rules=rules)
    if score.all.valid == score.all.sentences:
        return score, None, None
    return score, evaluate_lines(gold, predicted, rules=rules, use_gold_tags=True), None


def _score_full(args: argparse.Namespace, rules: Rules) -> FullScore:
    gold, predicted = (
        [tree for file in _files(name) for tree in read_trees(file)] for name in (args.gold, args.predicted)
    )
    return score_full_trees(gold, predicted, rules=rules, merge_pro=args.merge_pro)


def _files(argument: str) -> list[str]:
    """The files that an argument names: a file, a folder or a pattern."""
    return [file.path for file in find_inputs([argument], partial(print_message, "treecrf evaluate"))]


def _lines(argument: str) -> list[str]:
    """The lines of files; the trees of JSON lines are in brackets."""
    lines = (map(str, read_trees(file)) if is_json_lines(file) else read_lines(file) for file in _files(argument))
    return list(chain.from_iterable(lines))


def _score_model(args: argparse.Namespace, rules: Rules) -> "tuple[Score, Score, WellFormednessComparison | None]":
    """EVALB's score of a model, its score over all sentences, and the well-formedness of gold and predicted trees."""
    from treecrf.parser import Parser
    from treecrf.parser.evaluate import evaluate_parser

    gold = [tree for file in _files(args.gold) for tree in read_trees(file)]
    parser = Parser.load(args.model, args.device, precision=args.precision)
    scores = evaluate_parser(parser, gold, rules=rules, mbr=not args.no_mbr)
    return scores.evalb, scores.all_sentences, scores.well_formedness


def _print_messages(score: Score, prefix: str = "") -> None:
    for message in score.messages:
        print(f"{prefix}{message.sentence} : {printable(message.text)}", file=sys.stderr)
        if message is score.stopped:
            return


def _print_report(
    score: Score,
    other: Score | None,
    all_sentences: Score | None,
    well_formedness: "WellFormednessComparison | None",
    full: FullScore | None,
    *,
    as_json: bool,
) -> None:
    from treecrf.trees.evalb import bootstrap, report

    intervals = bootstrap.intervals(score)
    comparison = bootstrap.compare(score, other) if other else None
    all_intervals = bootstrap.intervals(all_sentences) if all_sentences else {}
    if as_json:
        values = report.as_dict(score, intervals, comparison)
        if all_sentences:
            values |= {"gold_tags": report.as_dict(all_sentences, all_intervals)}
        if well_formedness:
            values |= {"well_formedness": well_formedness.as_dict()}
        if full:
            values |= {"full": full.as_dict()}
        print(json.dumps(values))
        return
    sys.stdout.write(str(score) + printable(report.extended_text(score, intervals, comparison)))
    if well_formedness:
        sys.stdout.write(well_formedness.text())
    if all_sentences:
        sys.stdout.write(report.both_figures(all_sentences, score, all_intervals, intervals))
    if full:
        sys.stdout.write(full.text())
