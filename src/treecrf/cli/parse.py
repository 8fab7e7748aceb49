"""`treecrf parse`: words in, trees out."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from treecrf.parser import Parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf parse`."""
    parser.add_argument(
        "input",
        nargs="?",
        default="-",
        metavar="INPUT",
        help="a sentence a line, words between spaces; - is standard input",
    )
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="for a tree a line; - is standard output")
    parser.add_argument("--model", required=True, metavar="M", help="a folder that `treecrf train` made")
    parser.add_argument(
        "--no-mbr", action="store_true", help="the best-scoring trees, not those of least expected error"
    )
    parser.add_argument("--device", metavar="D", help="cpu, cuda, cuda:1, ...; a GPU if there is one")


def run(args: argparse.Namespace) -> None:
    """Parse line by line, in order, as lines come."""
    parser = Parser.load(args.model, args.device)
    with ExitStack() as files:
        source = sys.stdin if args.input == "-" else files.enter_context(Path(args.input).open(encoding="utf-8"))
        target = (
            sys.stdout if args.output == "-" else files.enter_context(Path(args.output).open("w", encoding="utf-8"))
        )
        for tree in parser.parse_many(_sentences(source, args.input), mbr=not args.no_mbr):
            target.write(f"{tree}\n")


def _sentences(source: TextIO, name: str) -> Iterator[list[str]]:
    for number, line in enumerate(source, 1):
        words = line.split()
        if not words:
            raise ValueError(f"{name}:{number}: the line has no words; expected a sentence on each line")
        yield words
