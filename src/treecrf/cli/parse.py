"""`treecrf parse`: parses text or words, line by line."""

import argparse
import sys
from typing import TYPE_CHECKING

from treecrf.cli.colors import has_colors, paint

if TYPE_CHECKING:
    from treecrf.corpus.line_parser import LineOptions

_STDIO = "-"
_FORMATS = ("brackets", "json", "pretty", "conllu", "csv", "parquet")
_NOTES = """\
Each input line becomes one output line; an empty line stays empty (in JSON: null, or no sentences).
The formats pretty, conllu, csv and parquet have any number of lines or rows for an input line.
Without --tokens, a line is raw text and may have several sentences; their trees are on the same line.
With --paragraphs, lines are joined (e-mail, Gutenberg, Markdown), and each paragraph becomes one output line.

examples:
  echo 'The time for action is now.' | treecrf parse
  treecrf parse --format pretty            asks for sentences, one a line
  treecrf parse --tokens news.txt.gz -o news.mrg.gz
  treecrf parse texts/ -o trees/ --format json --probs --resume
  treecrf parse news.txt -o news.csv --format csv --probs
  treecrf parse news.txt --format conllu
  treecrf parse corpus/*.parquet -o trees/ --engine ray --resume
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `treecrf parse`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _NOTES
    add = parser.add_argument
    add("input", nargs="*", metavar="INPUT", help="files, folders or patterns; - is standard input (default: -)")
    add("-o", "--output", default=_STDIO, metavar="OUT", help="a file, or a folder for several inputs (default: -)")
    add("--model", default="en", metavar="M", help="an installed model or a folder (default: en)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--text", action="store_true", help="lines are raw text (the default)")
    mode.add_argument("--tokens", action="store_true", help="a line is one sentence, with spaces between its words")
    mode.add_argument("--paragraphs", action="store_true", help="lines are hard-wrapped text; a paragraph is joined")
    add("--field", metavar="F", help="field of JSON lines or Parquet to parse (default: text or tokens)")
    add("--id", default="id", metavar="F", help="field of JSON lines or Parquet to copy into JSON (default: id)")
    add("--format", choices=_FORMATS, default="brackets", help="output format (default: brackets)")
    add("--rows", choices=("constituents", "sentences"), default="constituents", help="rows of csv and parquet")
    add("--probs", action="store_true", help="also output the probabilities (json, pretty, csv, parquet)")
    add("--kbest", type=int, default=0, metavar="K", help="also output the K most probable trees (json, pretty)")
    add("--exact", action="store_true", help=r"in brackets, write parentheses in words as \u{28}, not as -LRB-")
    add("--no-mbr", action="store_true", help="output the trees with the best scores instead of MBR decoding")
    add("--resume", action="store_true", help="continue an interrupted run; skip inputs with a complete output")
    add("--skip-bad", action="store_true", help="write an empty line and a warning for a line that cannot be parsed")
    add("--max-line-bytes", type=int, default=1_000_000, metavar="N", help="longest line (default: 1,000,000 bytes)")
    add("--max-words", type=int, default=2000, metavar="N", help="longest sentence (default: 2,000 words)")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")
    add("--precision", choices=("float32", "int8"), help="on a CPU (default: int8 if supported)")
    add("--engine", choices=("one", "ray"), default="one", help="one process, or many with Ray (default: one)")
    _add_cluster_arguments(parser.add_argument_group("with --engine ray"))


def _add_cluster_arguments(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add("--address", metavar="A", help="address of the cluster, or auto on one of its machines (default: this machine)")
    add("--workers", type=int, metavar="N", help="number of workers (default: as many as fit)")
    add("--cpus-per-worker", type=int, default=1, metavar="N", help="cores and threads of each worker (default: 1)")
    add("--gpus-per-worker", type=float, default=1.0, metavar="X", help="share of a GPU per worker (default: 1)")
    add("--cpu-workers", type=int, default=0, metavar="N", help="additional workers that use the CPU")
    add(
        "--shard-lines",
        type=int,
        metavar="N",
        help="lines per shard, a multiple of 8,192 (default: 65,536 on GPUs, 16,384 on CPUs)",
    )
    add("--retries", type=int, default=3, metavar="N", help="how often a failed shard is tried again (default: 3)")


def run(args: argparse.Namespace) -> int | None:
    """Parses the inputs in this process or on a cluster."""
    from treecrf.corpus.parse_files import parse_files

    options = _line_options(args)
    if args.resume and (args.output == _STDIO or args.format == "pretty"):
        raise ValueError("--resume needs an output file: -o OUT, and a format that is not pretty")
    if args.engine == "ray" and args.paragraphs:
        raise ValueError("--paragraphs needs --engine one; shards of lines would cut paragraphs")
    if args.engine == "ray":
        return _run_on_cluster(args, options)
    try:
        parse_files(
            args.input or [_STDIO],
            args.output,
            options,
            device=args.device,
            resume=args.resume,
            warn=_print_message,
            has_colors=has_colors(sys.stdout),
        )
    except KeyboardInterrupt:
        _print_message("interrupted" + ("" if args.output == _STDIO else "; --resume continues the run"))
        return 130
    return None


def _line_options(args: argparse.Namespace) -> "LineOptions":
    from treecrf.corpus.line_parser import LineOptions

    return LineOptions(
        model=args.model,
        precision=args.precision,
        tokens=args.tokens,
        paragraphs=args.paragraphs,
        field=args.field,
        id=args.id,
        format=args.format,
        rows=args.rows,
        probs=args.probs,
        kbest=args.kbest,
        exact=args.exact,
        mbr=not args.no_mbr,
        skip_bad=args.skip_bad,
        max_line_bytes=args.max_line_bytes,
        max_words=args.max_words,
    )


def _run_on_cluster(args: argparse.Namespace, options: "LineOptions") -> int:
    from treecrf.corpus.cluster_options import ClusterOptions
    from treecrf.corpus.interrupts import defer_interrupts

    try:
        with defer_interrupts():
            from treecrf.corpus.ray_engine import parse_shards
    except ImportError as error:
        if error.name != "ray":
            raise
        raise ImportError("--engine ray needs Ray: pip install 'treecrf[ray]'") from error

    cluster = ClusterOptions(
        address=args.address,
        device=args.device,
        workers=args.workers,
        cpus_per_worker=args.cpus_per_worker,
        gpus_per_worker=args.gpus_per_worker,
        cpu_workers=args.cpu_workers,
        shard_lines=args.shard_lines,
        retries=args.retries,
    )
    return parse_shards(args.input, args.output, options, cluster, resume=args.resume, report=_print_message)


def _print_message(message: str) -> None:
    print(f"{paint('treecrf parse:', 'yellow', sys.stderr)} {message}", file=sys.stderr, flush=True)
