"""`treecrf prepare`: clean trees from treebank releases, or from any bracketed files, in one file or three parts."""

import argparse
import logging
import sys
from pathlib import Path

from treecrf.trees.treebank import OnError, write_trees
from treecrf.trees.treebank.random_split import MIN_FILES, SplitShares, report_split, split_files
from treecrf.trees.treebank.releases import RELEASES, CleanTrees, prepare, report_release, report_trees

_STDOUT = "-"
_WITHOUT_RELEASE = ("trees", "split")
_CORPORA = f"""\
corpora:
{chr(10).join(f"  {name:7} {release.title}" for name, release in RELEASES.items())}
  trees   any bracketed files, one or several lines per tree, plain or gzipped; "-" is standard input
  split   the same, split at random into train, dev and test; {MIN_FILES} or more files are documents, which are not cut
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{_CORPORA}\n{parser.epilog}"
    add = parser.add_argument
    add("corpus", metavar="CORPUS", choices=[*RELEASES, *_WITHOUT_RELEASE], help="the treebank; see below")
    add("paths", metavar="PATH", nargs="+", help="SOURCE OUT: the folder of a release, and the output folder")
    add("-o", "--output", metavar="OUT", help="the output, in place of the last PATH")
    add("--skip-bad", action="store_true", help="leave out trees that cannot be read, and count them")
    add("--encoding", help="encoding of the files (default: detect UTF-8 or GB18030)")
    add("--keep-labels", action="store_true", help="keep labels as they are, hyphens included (trees and split)")
    add("--dev", type=float, metavar="SHARE", help=f"share of the trees (split; default: {SplitShares.dev})")
    add("--test", type=float, metavar="SHARE", help=f"share of the trees (split; default: {SplitShares.test})")
    add("--seed", type=int, metavar="N", help="number of the random split (split; default: 1)")


def run(args: argparse.Namespace) -> None:
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    sources, out = _sources_and_output(args)
    if args.corpus != "split" and any(value is not None for value in (args.dev, args.test, args.seed)):
        raise ValueError("--dev, --test and --seed are for `treecrf prepare split`")
    if args.corpus in _WITHOUT_RELEASE:
        for source in sources:
            if source != _STDOUT and not Path(source).exists():
                raise FileNotFoundError(f"there is no file {source}; expected trees in brackets, plain or gzipped")
        (_split if args.corpus == "split" else _write_trees)(args, sources, out)
        return
    if len(sources) != 1 or args.keep_labels:
        raise ValueError(f"{args.corpus} takes one SOURCE folder, one OUT folder, and not --keep-labels")
    release = RELEASES[args.corpus]
    trees, missing = prepare(release, Path(sources[0]), Path(out), encoding=args.encoding, on_error=_on_error(args))
    print("\n".join([release.title, *report_release(trees, missing, release.expected)]))


def _sources_and_output(args: argparse.Namespace) -> tuple[list[str], str]:
    if args.output is not None:
        return args.paths, args.output
    *sources, out = args.paths
    if not sources:
        raise ValueError(f"there is no output: add OUT after {out}, or -o OUT")
    if args.corpus == "trees" and Path(out).is_file():
        raise ValueError(f"{out} exists; replace it with -o {out}")
    return sources, out


def _write_trees(args: argparse.Namespace, sources: list[str], out: str) -> None:
    trees = CleanTrees(files=sources, keep_labels=args.keep_labels, encoding=args.encoding, on_error=_on_error(args))
    if out == _STDOUT:
        for tree in trees:
            print(tree)
    else:
        write_trees(out, trees)
    print("\n".join(report_trees(trees)), file=sys.stderr if out == _STDOUT else None)


def _split(args: argparse.Namespace, sources: list[str], out: str) -> None:
    shares = {name: getattr(args, name) for name in ("dev", "test") if getattr(args, name) is not None}
    split = split_files(
        sources,
        Path(out),
        shares=SplitShares(**shares),
        seed=1 if args.seed is None else args.seed,
        keep_labels=args.keep_labels,
        encoding=args.encoding,
        on_error=_on_error(args),
    )
    print("\n".join(report_split(split)))


def _on_error(args: argparse.Namespace) -> OnError:
    return "skip" if args.skip_bad else "raise"
