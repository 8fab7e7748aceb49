"""`treecrf reproduce`: runs the paper's experiments on a treebank and writes a report."""

import argparse
import shlex
import sys
from functools import partial
from pathlib import Path

from treecrf.corpus.options import check_minimum


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="a treebank: train, dev and test as .mrg or .mrg.gz")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="folder for the runs and the report")
    tables = "dev,remarks,test,speed"
    add("--tables", default=tables, metavar="NAMES", help="tables, separated by commas, or all (default: %(default)s)")
    add("--rows", default="", metavar="NAMES", help="train only these rows of the tables, such as two-stage,minus")
    add(
        "--seeds",
        default="1,2,3,4,5",
        metavar="N,N",
        help="random seeds; each row has a run per seed (default: 1 to 5)",
    )
    add("--jobs", type=int, default=1, metavar="N", help="number of parallel runs on the GPU or CPU (default: 1)")
    add("--epochs", type=int, metavar="N", help="maximum number of epochs of each run")
    add("--vectors", default="", metavar="FILE", help="pretrained word vectors in the format of GloVe")
    add("--unknown-vector", default="", metavar="WORD", help="the word whose vector unknown words get")
    add("--encoder", default="", metavar="NAME", help="name or folder of a pretrained transformer")
    setting_help = "set a value for all rows, or with ROW:KEY=VALUE for one"
    add("--set", action="append", default=[], metavar="KEY=VALUE", help=setting_help)
    add("--paper", default="", metavar="NAME", help="ptb, ctb5 or ctb7 (default: detect by the sizes)")
    add("--device", metavar="D", help="cpu, cuda or cuda:N (default: cuda if available)")
    add("--report-only", action="store_true", help="write the report on the finished runs, and train nothing")


def run(args: argparse.Namespace) -> int:
    from treecrf.training.reproduce.paper import TABLES
    from treecrf.training.reproduce.plan import Plan, Treebank
    from treecrf.training.reproduce.report import JSON, MARKDOWN, write_report
    from treecrf.training.reproduce.runner import run_all

    check_minimum(args, jobs=1, epochs=1)
    if args.vectors and not Path(args.vectors).is_file():
        raise FileNotFoundError(f"there is no file {args.vectors}; expected a file of word vectors for --vectors")
    plan = Plan(
        treebank=Treebank.find(args.folder),
        out=args.output,
        tables=tuple(TABLES) if args.tables == "all" else tuple(filter(None, args.tables.split(","))),
        rows=tuple(filter(None, args.rows.split(","))),
        seeds=_seeds(args.seeds),
        epochs=args.epochs,
        vectors=_absolute(args.vectors),
        unknown_vector=args.unknown_vector,
        encoder=_absolute(args.encoder),
        settings=tuple(args.set),
        corpus=args.paper,
    )
    plan.write()
    print(f"{len(plan.runs())} runs for the tables {', '.join(plan.tables)}; seeds {args.seeds}", flush=True)
    for reason in plan.left_out():
        print(f"left out: {reason}", flush=True)
    try:
        report = partial(print, flush=True)
        failures = [] if args.report_only else run_all(plan, jobs=args.jobs, device=args.device, report_progress=report)
    except KeyboardInterrupt:
        sys.exit("treecrf reproduce: stopped; the same command continues")
    write_report(plan, failures, device=args.device, command=shlex.join(["treecrf", *sys.argv[1:]]))
    print(f"{args.output / MARKDOWN} and {args.output / JSON}")
    for failure in failures:
        print(f"treecrf reproduce: {failure.run.name}: {failure.reason}", file=sys.stderr)
    return 1 if failures else 0


def _seeds(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(seed) for seed in text.split(","))
    except ValueError:
        raise ValueError(f"--seeds is {text!r}; expected whole numbers, separated by commas, such as 1,2,3") from None


def _absolute(name: str) -> str:
    """The absolute path of a file or folder, because runs have another working directory; other names stay."""
    return str(Path(name).resolve()) if name and Path(name).exists() else name
