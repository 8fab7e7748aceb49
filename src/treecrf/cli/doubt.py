"""`treecrf doubt`: the sentences worth annotating, their constituents in doubt, and what can be kept unseen."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from treecrf.cli.annotate import add_corpus_arguments, read_corpus

if TYPE_CHECKING:
    from treecrf.corpus.annotation.doubt import CoveragePoint, SentenceDoubt

_SUFFIXES = (".txt", ".csv", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("corpus", help="raw text, or trees (.mrg); - is standard input")
    add_corpus_arguments(parser)
    add("-o", "--output", type=Path, metavar="TABLE", help="a file .txt, .csv or .json (default: text on the screen)")
    add("--limit", type=int, metavar="N", help="only the first N sentences of the table")
    add("--below", type=float, default=0.9, metavar="P", help="doubt constituents below P (default: %(default)s)")
    target_help = "expected precision of what is kept (default: %(default)s)"
    add("--target-precision", type=float, default=0.97, metavar="P", help=target_help)
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")


def run(args: argparse.Namespace) -> None:
    from treecrf.corpus.annotation.doubt import coverage_curve, coverage_text, find_doubt
    from treecrf.files import write_file
    from treecrf.parser import Parser

    _check(args)
    parser = Parser.load(args.model, args.device)
    sentences = list(read_corpus(args.corpus, parser, has_words=args.tokens, field=args.field))
    if not sentences:
        raise ValueError(f"{args.corpus} has no sentences")
    doubts = find_doubt(parser, sentences)
    curve = coverage_curve(doubts, args.target_precision)
    print(*coverage_text(curve), sep="\n")
    if left_out := len(sentences) - len(doubts):
        print(f"{left_out} sentences of more than 200 words are left out")
    if args.output:
        write_file(args.output, _table(args, doubts[: args.limit], curve).encode())
    else:
        print("", *_text(args, doubts[: args.limit]), sep="\n")


def _check(args: argparse.Namespace) -> None:
    for name in ("below", "target_precision"):
        if not 0 < getattr(args, name) < 1:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is {getattr(args, name)}; expected a number between 0 and 1, such as 0.9")
    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected 1 or more")
    if args.output and args.output.suffix not in _SUFFIXES:
        raise ValueError(f"{args.output} has another ending; expected one of {', '.join(_SUFFIXES)}")


def _text(args: argparse.Namespace, doubts: "list[SentenceDoubt]") -> Iterator[str]:
    from treecrf.corpus.annotation.doubt import doubt_text
    from treecrf.corpus.terminal import escape_controls

    return map(escape_controls, doubt_text(doubts, args.below))


def _table(args: argparse.Namespace, doubts: "list[SentenceDoubt]", curve: "list[CoveragePoint]") -> str:
    from treecrf.corpus.annotation.doubt import coverage_as_dict, csv_rows, doubt_text
    from treecrf.trees.tables import csv_text

    if args.output.suffix == ".csv":
        return csv_text(csv_rows(doubts, args.below)) + "\n"
    if args.output.suffix == ".txt":
        return "\n".join(doubt_text(doubts, args.below)) + "\n"
    record = {"coverage": coverage_as_dict(curve), "sentences": [doubt.as_dict(args.below) for doubt in doubts]}
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"
