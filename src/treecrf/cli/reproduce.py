"""`treecrf reproduce`: the paper's tables on a treebank, as one report."""

import argparse
import shlex
import sys
from pathlib import Path

_NOTES = """\
FOLDER holds train.mrg, dev.mrg and test.mrg, gzipped or not; test.news.mrg, test.web.mrg, ... are genres of test.
Every run is a process of its own and leaves a parser in OUT/runs. Stopped at any moment, the same command goes on;
what is finished is kept. OUT/report.md and OUT/report.json hold the tables.

tables:
  dev          one-stage max-margin, one-stage CRF, two-stage CRF, without MBR, minus features, vanilla dropout
  test         random vectors, pretrained vectors (--vectors), a frozen and a fine-tuned encoder (--encoder)
  speed        two-stage and one-stage, with and without MBR, per part, beside peers that are installed
  calibration  reliability of probabilities before and after temperature scaling, F where the parser may pass
  analysis     F by length, label, width and genre; parts of the training trees; binarization, masks, bf16

example:
  treecrf reproduce data/genia -o reports/genia --tables dev,test --seeds 1,2,3 --jobs 4 --vectors glove.6B.100d.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf reproduce`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _NOTES
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="a treebank: train, dev and test as .mrg or .mrg.gz")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="for runs and the report")
    add(
        "--tables",
        default="dev,test",
        metavar="NAMES",
        help="with commas between (default: dev,test); all of them: all",
    )
    add("--seeds", default="1,2,3", metavar="N,N", help="one run of each row for each (default: 1,2,3)")
    add("--jobs", type=int, default=1, metavar="N", help="runs at a time, on one GPU or CPU (default: 1)")
    add("--epochs", type=int, metavar="N", help="at most, for every run")
    add("--vectors", default="", metavar="FILE", help="pretrained word vectors, as GloVe writes them")
    add("--unknown-vector", default="", metavar="WORD", help="the word in that file that stands for unknown ones")
    add("--encoder", default="", metavar="NAME", help="a transformer's name, or its folder")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of all rows; of one: ROW:KEY=VALUE")
    add("--paper", default="", metavar="NAME", help="ptb, ctb5 or ctb7, where the sizes do not tell that it is one")
    add("--device", metavar="D", help="cpu, cuda, cuda:1, ...; a GPU if there is one")
    add("--report-only", action="store_true", help="make the report of what is finished, and train nothing")


def run(args: argparse.Namespace) -> int:
    """Run what is not finished, and write the report."""
    from treecrf.reproduce.ablations import TABLES
    from treecrf.reproduce.plan import Plan, Treebank
    from treecrf.reproduce.report import JSON, MARKDOWN, report
    from treecrf.reproduce.runner import run_all

    for name in ("jobs", "epochs"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise ValueError(f"--{name} is {getattr(args, name)}; expected 1 or more")
    if args.vectors and not Path(args.vectors).is_file():
        raise FileNotFoundError(f"there is no file {args.vectors}; --vectors names one of word vectors")
    plan = Plan(
        treebank=Treebank.find(args.folder),
        out=args.output,
        tables=TABLES if args.tables == "all" else tuple(filter(None, args.tables.split(","))),
        seeds=_seeds(args.seeds),
        epochs=args.epochs,
        vectors=_absolute(args.vectors),
        unknown_vector=args.unknown_vector,
        encoder=_absolute(args.encoder),
        settings=tuple(args.set),
        corpus=args.paper,
    )
    plan.write()
    try:
        failures = [] if args.report_only else run_all(plan, jobs=args.jobs, device=args.device, tell=_tell)
    except KeyboardInterrupt:
        sys.exit("treecrf reproduce: stopped; the same command goes on from here")
    report(plan, failures, device=args.device, command=shlex.join(["treecrf", *sys.argv[1:]]))
    print(f"{args.output / MARKDOWN} and {args.output / JSON}")
    for failure in failures:
        print(f"treecrf reproduce: {failure.run.name}: {failure.reason}", file=sys.stderr)
    return 1 if failures else 0


def _tell(line: str) -> None:
    print(line, flush=True)


def _seeds(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(seed) for seed in text.split(","))
    except ValueError:
        raise ValueError(f"--seeds is {text!r}; expected whole numbers with commas between, such as 1,2,3") from None


def _absolute(name: str) -> str:
    """The place of a file or folder that is there, whatever folder a run works in; or the name as it is."""
    return str(Path(name).resolve()) if name and Path(name).exists() else name
