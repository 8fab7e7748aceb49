"""`treecrf prepare`: clean trees from treebank releases, or from any bracketed files."""

import argparse
import logging
import sys
from pathlib import Path

from treecrf.treebank import OnError, write_trees
from treecrf.treebank.release_report import report_release, report_trees
from treecrf.treebank.releases import RELEASES, CleanTrees, prepare

_STDOUT = "-"
_NOTES = """\
corpora:
{corpora}
  trees   any bracketed files, one or several lines per tree, plain or gzipped; "-" is standard input

examples:
  treecrf prepare ptb treebank_3 data/ptb           writes data/ptb/train.mrg, dev.mrg and test.mrg
  treecrf prepare trees a.mrg b.fid.gz -o all.mrg   writes one file
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `treecrf prepare`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    corpora = "\n".join(f"  {name:7} {release.title}" for name, release in RELEASES.items())
    parser.epilog = _NOTES.format(corpora=corpora)
    add = parser.add_argument
    add("corpus", metavar="CORPUS", choices=[*RELEASES, "trees"], help="the treebank; see below")
    add("paths", metavar="PATH", nargs="+", help="SOURCE OUT: the folder of a release, and the output folder")
    add("-o", "--output", metavar="OUT", help="the output, in place of the last PATH")
    add("--skip-bad", action="store_true", help="leave out trees that cannot be read, and count them")
    add("--encoding", help="encoding of the files (default: detect UTF-8 or GB18030)")
    add("--keep-labels", action="store_true", help="keep labels as they are, hyphens included (trees only)")


def run(args: argparse.Namespace) -> None:
    """Writes clean trees and prints a report."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    sources, out = _sources_and_output(args)
    on_error: OnError = "skip" if args.skip_bad else "raise"
    if args.corpus == "trees":
        trees = CleanTrees(files=sources, keep_labels=args.keep_labels, encoding=args.encoding, on_error=on_error)
        for source in sources:
            if source != _STDOUT and not Path(source).exists():
                raise FileNotFoundError(f"there is no file {source}; expected trees in brackets, plain or gzipped")
        _write_trees(trees, out)
        return
    if len(sources) != 1 or args.keep_labels:
        raise ValueError(f"{args.corpus} takes one SOURCE folder, one OUT folder, and not --keep-labels")
    release = RELEASES[args.corpus]
    prepared = prepare(release, Path(sources[0]), Path(out), encoding=args.encoding, on_error=on_error)
    print("\n".join([release.title, *report_release(prepared, release.expected)]))


def _sources_and_output(args: argparse.Namespace) -> tuple[list[str], str]:
    if args.output is not None:
        return args.paths, args.output
    *sources, out = args.paths
    if not sources:
        raise ValueError(f"there is no output: add OUT after {out}, or -o OUT")
    if args.corpus == "trees" and Path(out).is_file():
        raise ValueError(f"{out} exists; replace it with -o {out}")
    return sources, out


def _write_trees(trees: CleanTrees, out: str) -> None:
    if out == _STDOUT:
        for tree in trees:
            print(tree)
    else:
        write_trees(out, trees)
    print("\n".join(report_trees(trees)), file=sys.stderr if out == _STDOUT else None)
