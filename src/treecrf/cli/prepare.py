"""`treecrf prepare`: clean trees from treebank releases, or from any bracketed files."""

import argparse
import logging
import sys
from pathlib import Path

from treecrf.treebank import OnError, write_trees
from treecrf.treebank.releases import RELEASES, SPLITS, CleanTrees, PreparedRelease, ReleaseSizes, count_sizes, prepare

_EXAMPLES = """\
corpora:
{corpora}
  trees   any bracketed files, one tree a line or many lines a tree, plain or gzip; "-" is standard input

examples:
  treecrf prepare ptb treebank_3 data/ptb           writes data/ptb/train.mrg, dev.mrg and test.mrg
  treecrf prepare trees a.mrg b.fid.gz -o all.mrg   writes one file
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf prepare`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EXAMPLES.format(corpora="\n".join(f"  {name:7} {c.title}" for name, c in RELEASES.items()))
    parser.add_argument("corpus", metavar="CORPUS", choices=[*RELEASES, "trees"], help="which treebank; see below")
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="SOURCE OUT: a release's folder, and a folder to write"
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="where to write, instead of the last PATH")
    parser.add_argument("--skip-bad", action="store_true", help="leave out trees that cannot be read, and count them")
    parser.add_argument("--encoding", help="of the files (default: UTF-8 or GB18030, by what they hold)")
    parser.add_argument("--keep-labels", action="store_true", help="with trees: labels have hyphens of their own")


def run(args: argparse.Namespace) -> None:
    """Write clean trees, then tell what there is, and where that differs from what is expected."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    sources, out = _sources_and_output(args)
    on_error: OnError = "skip" if args.skip_bad else "raise"
    if args.corpus == "trees":
        trees = CleanTrees(files=sources, keep_labels=args.keep_labels, encoding=args.encoding, on_error=on_error)
        _prepare_trees(trees, out)
        return
    if len(sources) != 1 or args.keep_labels:
        raise ValueError(f"{args.corpus} takes one SOURCE folder, one OUT folder, and not --keep-labels")
    corpus = RELEASES[args.corpus]
    done = prepare(corpus, Path(sources[0]), Path(out), encoding=args.encoding, on_error=on_error)
    print(corpus.title)
    print("\n".join(_table(done.splits, corpus.expected)))
    print("\n".join([*_losses(done.splits), *_remarks(done, corpus.expected)]))


def _sources_and_output(args: argparse.Namespace) -> tuple[list[str], str]:
    if args.output is not None:
        return args.paths, args.output
    *sources, out = args.paths
    if not sources:
        raise ValueError(f"nowhere to write: give OUT after {out}, or -o OUT")
    if args.corpus == "trees" and Path(out).is_file():
        raise ValueError(f"{out} exists; say -o {out} to replace it")
    return sources, out


def _prepare_trees(trees: CleanTrees, out: str) -> None:
    if out == "-":
        for tree in trees:
            print(tree)
    else:
        write_trees(out, trees)
    print("\n".join([*_table({"all": trees}, None), *_losses({"all": trees})]), file=sys.stderr if out == "-" else None)


def _table(parts: dict[str, CleanTrees], expected: ReleaseSizes | None) -> list[str]:
    """What each part holds, beside the figures of the paper where there are any."""
    header = ["part", "sentences", "paper", "tokens", "labels", "paper", "binarized", "paper"]
    rows = [header]
    for name, part in parts.items():
        paper = [""] * 3
        if expected and name in SPLITS:
            paper[0] = f"{getattr(expected, name):,}"
        if expected and name == "train":
            paper[1:] = [f"{expected.labels:,}", f"{expected.binarized_labels:,}"]
        ours = [part.sentences, part.tokens, len(part.labels), len(part.binarized_labels)]
        sentences, tokens, labels, binarized = (f"{number:,}" for number in ours)
        rows.append([name, sentences, paper[0], tokens, labels, paper[1], binarized, paper[2]])
    kept = [column for column in range(len(header)) if expected or header[column] != "paper"]
    widths = {column: max(len(row[column]) for row in rows) for column in kept}
    return [
        "  ".join(row[column].rjust(widths[column]) if column else row[0].ljust(widths[0]) for column in kept).rstrip()
        for row in rows
    ]


def _losses(parts: dict[str, CleanTrees]) -> list[str]:
    skipped = sum(part.skipped for part in parts.values())
    wordless = sum(part.wordless for part in parts.values())
    lines = [f"skipped, because they could not be read: {skipped:,} trees"] if skipped else []
    return lines + ([f"dropped, because no words were left: {wordless:,} trees"] if wordless else [])


def _remarks(done: PreparedRelease, expected: ReleaseSizes | None) -> list[str]:
    missing = [f"missing: {what}" for what in done.missing]
    if not expected:
        return missing
    names = ("sentences of train", "sentences of dev", "sentences of test", "labels", "binarized labels")
    pairs = zip(names, count_sizes(done.splits), expected, strict=True)
    differences = [f"differs: {ours:,} {name}, {paper:,} in the paper" for name, ours, paper in pairs if ours != paper]
    return missing + (differences or ["all figures are those of the paper"])
