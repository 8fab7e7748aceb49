"""`treecrf measure`: measures the syntactic complexity of texts, as a table with a row for each text."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from treecrf.corpus.terminal import print_message

if TYPE_CHECKING:
    from treecrf.corpus.inputs import InputFile

_STDIO = "-"
_warn = partial(print_message, "treecrf measure")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="texts, folders or patterns; - is standard input (default: -)")
    add("-o", "--output", default=_STDIO, metavar="TABLE", help="the table (default: standard output)")
    add("--field", metavar="F", help="field of CSV, TSV, JSON lines or Parquet with the text (default: text)")
    add("--words", action="store_true", help="a row for each word: depth, syntactic distance, Yngve and Frazier scores")
    add("--model", default="en", metavar="M", help="an installed model or a folder (default: en)")
    add("--samples", type=int, default=100, metavar="N", help="sampled trees per sentence (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the samples (default: %(default)s)")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")
    add(
        "--precision",
        choices=("float32", "float16", "int8", "int14"),
        help="float16 is for GPUs, int8 and int14 for CPUs",
    )


def run(args: argparse.Namespace) -> None:
    from treecrf.corpus.inputs import total_size
    from treecrf.corpus.measures.files import TableWriter
    from treecrf.corpus.records import holds_trees
    from treecrf.corpus.terminal import ProgressBar
    from treecrf.files import open_atomic
    from treecrf.parser import Parser

    if args.samples < 2:
        raise ValueError(f"--samples is {args.samples}; an interval needs 2 or more")
    files = _find_files(args.files or [_STDIO], args.output)
    texts = [file for file in files if not holds_trees(file.path)]
    parser = Parser.load(args.model, args.device, precision=args.precision) if texts else None
    is_file = args.output != _STDIO
    with (
        open_atomic(Path(args.output)) if is_file else nullcontext(sys.stdout.buffer) as stream,
        ProgressBar(total_size(texts), unit="sentences", is_shown=is_file) as progress,
    ):
        table = TableWriter(
            stream=stream,
            parser=parser,
            samples=args.samples,
            seed=args.seed,
            field=args.field,
            warn=partial(progress.print_message, _warn),
            progress=progress,
        )
        (table.write_words if args.words else table.write_texts)(files)


def _find_files(arguments: Sequence[str], output: str) -> "list[InputFile]":
    """The files that the arguments name, without the table of an earlier run."""
    from treecrf.corpus.inputs import find_inputs
    from treecrf.files import real_path

    files = []
    for file in find_inputs(arguments, _warn):
        if output != _STDIO and real_path(file.path) == real_path(output):
            _warn(f"skipped {file.name}: it is the output")
        else:
            files.append(file)
    return files
