"""`treecrf parse`: parses text or words, line by line."""

import argparse
from functools import partial

from treecrf.corpus.options import ClusterOptions, ParseOptions, add_options, format_by_name, read_options
from treecrf.corpus.terminal import INTERRUPTED, defer_interrupts, print_message

_STDIO = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("input", nargs="*", metavar="INPUT", help="files, folders or patterns; - is standard input (default: -)")
    add("-o", "--output", default=_STDIO, metavar="OUT", help="a file, or a folder for several inputs (default: -)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--text", action="store_true", help="lines are raw text (the default)")
    add_options(parser, ParseOptions, groups={"tokens": mode, "paragraphs": mode})
    add("--report", metavar="FILE", help="table of skipped lines and doubtful sentences, such as tables and markup")
    parser.set_defaults(format=None)
    add("--resume", action="store_true", help="continue an interrupted run; skip inputs with a complete output")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")
    add("--engine", choices=("one", "ray"), default="one", help="one process, or many with Ray (default: one)")
    add_options(parser.add_argument_group("with --engine ray"), ClusterOptions)


def run(args: argparse.Namespace) -> int | None:
    args.format = args.format or format_by_name(args.output)
    options, warn = read_options(args, ParseOptions), partial(print_message, "treecrf parse")
    if args.resume and (args.output == _STDIO or args.format == "pretty"):
        raise ValueError("--resume needs an output file: -o OUT, and a format that is not pretty")
    if args.engine == "ray":
        return _run_on_cluster(args, options)
    from treecrf.corpus.parse_files import parse_files

    try:
        parse_files(
            args.input or [_STDIO],
            args.output,
            options,
            device=args.device,
            resume=args.resume,
            warn=warn,
            report=args.report,
        )
    except KeyboardInterrupt:
        warn("interrupted" + ("" if args.output == _STDIO else "; --resume continues the run"))
        return INTERRUPTED
    return None


def _run_on_cluster(args: argparse.Namespace, options: ParseOptions) -> int:
    if args.report:
        raise ValueError("--report needs --engine one; the workers of Ray do not write it")
    if args.paragraphs:
        raise ValueError("--paragraphs needs --engine one; shards of lines would cut paragraphs")
    try:
        with defer_interrupts():
            from treecrf.corpus.ray_engine import parse_shards
    except ImportError as error:
        if error.name != "ray":
            raise
        raise ImportError("--engine ray needs Ray: pip install 'treecrf[ray]'") from error
    return parse_shards(
        args.input,
        args.output,
        options,
        read_options(args, ClusterOptions),
        device=args.device,
        resume=args.resume,
        report=partial(print_message, "treecrf parse"),
    )
