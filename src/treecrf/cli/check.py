"""`treecrf check`: checks trees that were edited by hand."""

import argparse
from collections import Counter


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("edited", metavar="EDITED", help="edited trees; - is standard input")
    add("--against", metavar="ORIGINAL", help="the trees before editing: words must be equal, labels are known")
    add("--model", metavar="M", help="a model whose labels, tags and productions are known (default: en)")


def run(args: argparse.Namespace) -> int:
    from treecrf.corpus.annotation.check import check_trees
    from treecrf.corpus.terminal import escape_controls
    from treecrf.files import source_name
    from treecrf.parser import Parser

    if args.edited == args.against == "-":
        raise ValueError("edited and original trees are both standard input; name a file for one of them")
    model = args.model or (None if args.against else "en")
    findings = check_trees(args.edited, args.against, parser=Parser.load(model, "cpu") if model else None)
    for finding in findings:
        print(escape_controls(f"{source_name(args.edited)}:{finding.line}: {finding.kind}: {finding.text}"))
    counts = Counter(finding.kind for finding in findings)
    summary = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    print(
        f"found: {summary}"
        if findings
        else "everything is known" + (", and the words are equal" if args.against else "")
    )
    return 1 if any(finding.is_error for finding in findings) else 0
