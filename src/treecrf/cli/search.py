"""`treecrf search`: searches trees with a Tregex pattern, or changes them with Tsurgeon's operations."""

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from treecrf.corpus.inputs import find_inputs
from treecrf.corpus.terminal import paint, print_message
from treecrf.trees import search as tregex
from treecrf.trees.search.surgery import Surgery
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

_STDIN = "-"
_BATCH = 2000  # trees in memory
_CONTEXT = 40  # characters on each side of a match
_CSV_FIELDS = ("file", "tree", "label", "start", "end", "before", "words", "after", "node")
_HEADS = {"collins": tregex.COLLINS, "chinese": tregex.CHINESE}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "treecrf search [options] PATTERN [FILE ...]\n       treecrf search --surgery SCRIPT [FILE ...]"
    add = parser.add_argument
    add("pattern", nargs="?", metavar="PATTERN", help="a Tregex pattern")
    add("files", nargs="*", metavar="FILE", help="files, folders or patterns of trees (default: -)")
    show_help = "print the match in brackets (default), its words, alone or in context, its tree, CSV, JSON, or counts"
    add("--show", choices=["brackets", "words", "kwic", "trees", "csv", "json", "counts"], help=show_help)
    add("--nodes", action="store_true", help="print each matching node once")
    add("--heads", choices=_HEADS, default="collins", help="rules for <#, >#, <<# and >># (default: %(default)s)")
    add("--max-seconds", type=float, metavar="S", help="end with an error after S seconds (default: no limit)")
    add("--expected", action="store_true", help="parse texts, and print expected numbers of matches")
    add("--model", metavar="M", help="with --expected: an installed model or a folder (default: en)")
    add("--samples", type=int, metavar="N", help="with --expected: sampled trees per sentence (default: 1000)")
    add("--surgery", metavar="SCRIPT", help="change the trees by a script of Tsurgeon operations, and print them")


def run(args: argparse.Namespace) -> None:
    _check(args)
    with nullcontext() if args.max_seconds is None else tregex.time_limit(args.max_seconds):
        _search(args)


def _search(args: argparse.Namespace) -> None:
    if args.surgery is not None:
        script = sys.stdin.read() if args.surgery == _STDIN else Path(args.surgery).read_text(encoding="utf-8")
        files = [args.pattern, *args.files] if args.pattern else [_STDIN]
        _print_changed(tregex.read_surgeries(script), _paths(files))
        return
    if args.pattern is None:
        raise ValueError("expected a pattern, such as 'NP < PP'")
    pattern = tregex.Pattern(args.pattern)
    files = _paths(args.files or [_STDIN])
    if args.expected:
        _print_expected(pattern, files, args)
    elif args.show == "counts":
        _print_counts(pattern, files, args)
    else:
        if args.show == "csv":
            _print_csv(_CSV_FIELDS)
        for file in files:
            _print_matches(pattern, file, args)


def _check(args: argparse.Namespace) -> None:
    if args.surgery is not None and (args.show or args.nodes or args.expected):
        raise ValueError("--surgery prints trees; --show, --nodes and --expected need a pattern")
    if args.expected and (args.show or args.nodes):
        raise ValueError("--expected prints numbers; leave out --show and --nodes")
    if not args.expected and (args.model or args.samples):
        raise ValueError("--model and --samples need --expected; parse a text first to search its trees")


def _print_expected(pattern: tregex.Pattern, files: Iterable[str], args: argparse.Namespace) -> None:
    """Prints a line for each sentence of the texts, and a line with the totals of each text."""
    from treecrf.parser import Parser
    from treecrf.parser.tree_samples import expected_counts

    parser = Parser.load(args.model or "en")
    print("file\tsentence\tmatches\texpected\tlow\thigh\tcount_low\tcount_high\twords")
    for file in files:
        for row in expected_counts(parser, pattern, file, samples=args.samples or 1000):
            count = row.expected
            numbers = (f"{number:.3f}" for number in (count.mean, count.mean_low, count.mean_high))
            print(file, row.sentence, row.matches, *numbers, count.low, count.high, " ".join(row.words), sep="\t")


def _paths(arguments: Sequence[str]) -> list[str]:
    """The files that arguments name: files, folders and patterns."""
    return [file.path for file in find_inputs(arguments, partial(print_message, "treecrf search"))]


def _print_changed(surgeries: Sequence[Surgery], files: Sequence[str]) -> None:
    deleted = 0
    for file in files:
        for number, tree in enumerate(read_trees(file), 1):
            try:
                changed = tregex.apply_surgeries(tree, surgeries)
            except ValueError as error:
                raise ValueError(f"{file}, tree {number}: {error}") from error
            if changed is None:
                deleted += 1
            else:
                print(changed)
    if deleted:
        print(f"treecrf search: the surgery deleted {deleted} whole tree{'s' * (deleted > 1)}", file=sys.stderr)


def _print_matches(pattern: tregex.Pattern, file: str, args: argparse.Namespace) -> None:
    first_number = 1  # number of the first tree of a batch
    for forest in tregex.read_forests(file, batch_trees=_BATCH, head_rules=_HEADS[args.heads]):
        last_position = -1
        for match in pattern.find(forest):
            if not args.nodes or match.position != last_position:
                _print_match(file, first_number + match.tree_number, match, args.show)
            last_position = match.position
        first_number += len(forest)


def _print_counts(pattern: tregex.Pattern, files: Iterable[str], args: argparse.Namespace) -> None:
    print("file\tmatches\tnodes\ttrees")
    for file in files:
        forests = tregex.read_forests(file, batch_trees=_BATCH, head_rules=_HEADS[args.heads])
        batches = [pattern.count(forest) for forest in forests]
        counts = tregex.MatchCounts(*map(sum, zip(*batches, strict=True))) if batches else tregex.MatchCounts(0, 0, 0)
        print(file, *counts, sep="\t")


def _print_match(file: str, number: int, match: tregex.Match, show: str | None) -> None:
    if show == "json":
        _print_json(file, number, match)
    elif show == "csv":
        before, words, after = _in_context(match)
        node = match.node
        _print_csv(
            (file, number, node if isinstance(node, str) else node.label, *match.span, before, words, after, node)
        )
    elif show == "kwic":
        before, words, after = _in_context(match)
        marked = paint(f"[{words}]", "red", sys.stdout)
        print(f"{file}:{number}\t{before[-_CONTEXT:]:>{_CONTEXT}} {marked} {after[:_CONTEXT]}".rstrip())
    else:
        text = " ".join(_words(match.node)) if show == "words" else match.tree if show == "trees" else match.node
        print(f"{paint(f'{file}:{number}', 'blue', sys.stdout)}\t{text}")


def _in_context(match: tregex.Match) -> tuple[str, str, str]:
    """The words before the match, in it and after it."""
    words, (start, end) = match.tree.words, match.span
    return " ".join(words[:start]), " ".join(words[start:end]), " ".join(words[end:])


def _print_csv(fields: Iterable[object]) -> None:
    csv.writer(sys.stdout, lineterminator="\n").writerow(fields)


def _print_json(file: str, number: int, match: tregex.Match) -> None:
    """Prints a match in pieces: each of many names may be a large node."""
    write, to_json = sys.stdout.write, partial(json.dumps, ensure_ascii=False)
    write(to_json({"file": file, "tree": number, **_json_node(match, match.position)})[:-1] + ', "names": {')
    for index, (name, position) in enumerate(match.positions.items()):
        write(f"{', ' if index else ''}{to_json(name)}: {to_json(_json_node(match, position))}")
    write(f'}}, "variables": {to_json(match.variables)}}}\n' if match.variables else "}}\n")


def _json_node(match: tregex.Match, position: int) -> dict[str, Any]:
    """A node with its label, its words, their range in the tree, and its brackets."""
    node = match.forest.subtree(position)
    label = node if isinstance(node, str) else node.label
    span = list(match.forest.words(position))
    return {"label": label, "span": span, "words": _words(node), "node": str(node)}


def _words(node: Tree | str) -> list[str]:
    return [node] if isinstance(node, str) else node.words
