"""Score predicted trees, or those that a model finds, against gold trees; EVALB's output first, ours below it."""

import argparse
import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from treecrf.evalb import Rules, Score, evaluate_lines
from treecrf.evalb.rules import NAMED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gold", metavar="GOLD", help="gold trees, one a line or indented; may be gzipped; - for stdin")
    parser.add_argument("predicted", nargs="?", metavar="PREDICTED", help="predicted trees, in the same order")
    parser.add_argument("--model", metavar="M", help="parse the gold trees' words with this model, and score that")
    parser.add_argument("--device", metavar="D", help="with --model: cpu, cuda, ...; a GPU if there is one")
    parser.add_argument("--precision", choices=("float32", "int8"), help="with --model on a CPU; int8 where it can be")
    parser.add_argument("--no-mbr", action="store_true", help="with --model: the best-scoring trees instead")
    parser.add_argument(
        "-p",
        "--rules",
        default="collins",
        metavar="RULES",
        help=f"{', '.join(NAMED)} or a parameter file of EVALB (default: %(default)s)",
    )
    parser.add_argument("-c", "--cutoff", type=int, metavar="N", help="longest sentence of the second summary")
    parser.add_argument("-e", "--max-error", type=int, metavar="N", help="give up as EVALB does, N + 2 errors in")
    parser.add_argument(
        "--keep-going", action="store_true", help="never give up; count what cannot be read as an error"
    )
    parser.add_argument("--compare", metavar="OTHER", help="test the difference from these predicted trees")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--plain", action="store_true", help="print EVALB's lines and no others")
    form.add_argument("--json", action="store_true", help="print everything as JSON instead")


def run(args: argparse.Namespace) -> int:
    _check(args)
    rules = _rules(args)
    given = None
    if args.model:
        score, given = _parse_and_score(args, rules)
    else:
        score = evaluate_lines(_read_lines(args.gold), _read_lines(args.predicted), rules=rules)
    _print_messages(score)
    other = None
    if args.compare:
        other = evaluate_lines(_read_lines(args.gold), _read_lines(args.compare), rules=rules)
        _print_messages(other, f"{args.compare}: ")
    if args.plain or (score.stopped and not args.json):
        sys.stdout.write(str(score))
    else:
        _print_all(score, other, given, as_json=args.json)
    if score.stopped:
        print(f"gave up at sentence {score.stopped.sentence}, as EVALB does; --keep-going goes on", file=sys.stderr)
    return 1 if score.stopped else 0


def _check(args: argparse.Namespace) -> None:
    if (args.predicted is None) == (args.model is None):
        raise ValueError("expected either a file of predicted trees or --model M, which predicts them")
    if args.gold == "-" and args.compare:
        raise ValueError("--compare reads the gold trees twice, which standard input does not allow; name a file")
    if args.model is None and (args.device or args.precision or args.no_mbr):
        raise ValueError("--device, --precision and --no-mbr are for a model; give --model M as well")


def _parse_and_score(args: argparse.Namespace, rules: Rules) -> tuple[Score, Score | None]:
    """The score with predicted tags and with gold ones; that with gold tags alone for a model that has none."""
    from treecrf.parser import Parser
    from treecrf.parser.evaluate import evaluate_parser
    from treecrf.treebank import read_trees

    gold = list(read_trees(args.gold))
    parser = Parser.load(args.model, args.device, precision=args.precision)
    exam = evaluate_parser(parser, gold, rules=rules, mbr=not args.no_mbr)
    return exam.first, exam.given if exam.predicted else None


def _rules(args: argparse.Namespace) -> Rules:
    rules = Rules.named(args.rules) if args.rules in NAMED or not Path(args.rules).exists() else Rules.read(args.rules)
    if args.cutoff is not None:
        rules = replace(rules, cutoff=args.cutoff)
    if args.max_error is not None:
        rules = replace(rules, max_error=args.max_error)
    # a model's wrong tags of punctuation are errors to EVALB, and there are more of them in a large file than it bears
    keeps_going = args.keep_going or (args.model and args.max_error is None)
    return replace(rules, max_error=None) if keeps_going else rules


def _print_messages(score: Score, source: str = "") -> None:
    for message in score.messages:
        print(f"{source}{message.sentence} : {_printable(message.text)}", file=sys.stderr)
        if message is score.stopped:
            return


def _print_all(score: Score, other: Score | None, given: Score | None, *, as_json: bool) -> None:
    from treecrf.evalb import bootstrap, extended_report

    intervals = bootstrap.intervals(score)
    comparison = bootstrap.compare(score, other) if other else None
    with_gold = bootstrap.intervals(given) if given else {}
    if as_json:
        scores = extended_report.as_dict(score, intervals, comparison)
        print(json.dumps(scores | {"gold_tags": extended_report.as_dict(given, with_gold)} if given else scores))
        return
    sys.stdout.write(str(score) + _printable(extended_report.text(score, intervals, comparison)))
    if given:
        sys.stdout.write(extended_report.with_gold_tags(given, with_gold))


def _printable(text: str) -> str:
    # bytes that are no UTF-8 are compared as they are, but cannot be printed
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _read_lines(name: str) -> list[str]:
    """A file's lines as EVALB has them; trees that are evidently spread over lines are brought onto one."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error) as error:
            raise ValueError(f"{name}: damaged gzip file: {error}") from error
    text = re.sub("\0.*", "", data.decode("utf-8-sig", "surrogateescape"))  # a zero byte ends a line of C
    lines = text.removesuffix("\n").split("\n") if text else []
    return list(_join(lines)) if _is_spread(lines) else lines


def _is_spread(lines: list[str]) -> bool:
    depth = 0
    indented = False
    for line in lines:
        if depth > 0 and line.startswith("("):
            return False
        indented = indented or (depth > 0 and line[:1].isspace())
        depth += line.count("(") - line.count(")")
    return indented and depth == 0


def _join(lines: list[str]) -> Iterator[str]:
    parts: list[str] = []
    depth = 0
    for line in lines:
        parts.append(line)
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            tree = " ".join(parts).strip()
            if tree:
                yield tree
            parts = []
