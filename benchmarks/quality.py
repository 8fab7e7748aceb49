"""Analyses of a model's trees: decoders, confusions, and constituents that some sentences must have.

    python benchmarks/quality.py decoders TREEBANK.mrg[.gz] ... [--model en] [--limit 400] [--best-of 20]
    python benchmarks/quality.py confusions TREEBANK.mrg[.gz] ... [--model en]
    python benchmarks/quality.py constituents FILE [--model en]
    python benchmarks/quality.py ambiguities FILE [--model en] [--best-of 3]

`decoders` compares the tree with the highest score, the paper's MBR, expected F1, the tree of highest expected utility
among the k most probable trees, and expected F1 with the grammar of the training trees: by F1 over all sentences, by
ill-formed trees (`treecrf.trees.treebank.well_formed`) and by speed. `confusions` counts gold constructions that a
model misses. The decoder misses a construction if the tree with the best score has it and the default tree does not;
the model misses it if neither has it.
`constituents` reads a sentence a line: words, a tab, and `LABEL=words` separated by semicolons. `ambiguities` reads
words and such constituents of each reading, as in recipes/models/constructions/ambiguities.tsv, and looks for both
readings among the best trees.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from common import command_line, print_head, print_row
from treecrf.parser import Parser
from treecrf.parser.decoding.analysis import Alternative
from treecrf.trees.evalb import COLLINS, evaluate
from treecrf.trees.search import Forest, Pattern
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.well_formed import measure_well_formedness

Words = Sequence[Sequence[str]]
RULES = replace(COLLINS, max_error=None)
CONFUSIONS = {
    "VP coordination in a relative clause": "VP < CC < (VP $ VP) "
    "[> (SBAR <, WHNP|WHPP) | > (__ > (SBAR <, WHNP|WHPP))]",
    "PP with `between`": "PP <<, /(?i)^between$/",
    "SINV of an inverted quotation": "SINV << said|says|asked|added",
    "small clause after let, make, with": "S !<<, /(?i)^to$/ "
    "> (VP|PP <<, /(?i)^(?:lets?|makes?|made|making|with|without)$/)",
    "phrase with `than`": "SBAR|PP <<, /(?i)^than$/",
    "title or fragment (root NP, FRAG)": "NP|FRAG > (__ !> __)",
    "imperative (root S)": "S > (__ !> __) < (VP <, VB !$-- !/^(?:,|``|''|:|INTJ|ADVP)$/)",
    "relative clause (SBAR in NP)": "SBAR <, WHNP|WHPP|WHADVP > NP",
    "noun modified by a PP (NP -> NP PP)": "NP <1 NP <2 PP !<3 __",
}


def best_of_k(parser: Parser, sentences: Words, k: int) -> Iterator[Tree]:
    """The tree of highest expected utility among the k most probable trees of each sentence."""

    def utility(alternative: Alternative) -> float:
        return sum(constituent.probability - parser.f1_threshold for constituent in alternative.constituents)

    for analysis in parser.analyze_many(sentences, k=k):
        yield max(analysis.alternatives, key=utility).tree


def parse_with_each(parser: Parser, sentences: Words, k: int) -> Iterator[tuple[str, Iterator[Tree]]]:
    """The name of each decoder and its trees."""
    threshold, weight = parser.f1_threshold, parser.grammar_weight
    yield "the tree with the highest score", parser.parse_many(sentences, mbr=False)
    parser.f1_threshold = 0.0
    yield "the paper's MBR", parser.parse_many(sentences)
    parser.f1_threshold = threshold
    parser.grammar_weight = 0.0
    yield f"expected F1, threshold {threshold}", parser.parse_many(sentences)
    yield f"expected F1 among the {k} most probable trees", best_of_k(parser, sentences, k)
    parser.grammar_weight = weight
    yield f"expected F1 with the grammar, weight {weight}", parser.parse_many(sentences)


def print_decoders(treebanks: Sequence[Path], parser: Parser, *, limit: int | None, k: int) -> None:
    print_head("", "decoder", "F1", "ill-formed trees", "unseen productions", "sentences/s")
    for path in treebanks:
        gold = list(islice(read_trees(path), limit))
        sentences = [tree.words for tree in gold]
        list(parser.parse_many(sentences[:50]))  # the first call is slower
        for decoder, trees in chain([("gold trees", iter(gold))], parse_with_each(parser, sentences, k)):
            start = time.perf_counter()
            predicted = list(trees)
            speed = f"{len(gold) / (time.perf_counter() - start):,.0f}" if decoder != "gold trees" else ""
            f1 = evaluate(gold, predicted, rules=RULES, use_gold_tags=True).f1
            counts = measure_well_formedness(predicted, parser.productions)
            shares = f"{100 * counts.ill_formed_share:.1f} %", f"{100 * counts.unseen_share:.2f} %"
            print_row(f"{path.parent.name}/{path.name.split('.')[0]}", decoder, f"{f1:.2f}", *shares, speed)


def print_confusions(treebanks: Sequence[Path], parser: Parser) -> None:
    gold = [tree for path in treebanks for tree in read_trees(path)]
    words = [tree.words for tree in gold]
    defaults, best = ([set(tree.spans()) for tree in parser.parse_many(words, mbr=mbr)] for mbr in (True, False))
    print_head(
        *("construction", "gold", "missed by default", "by the decoder", "by the model", "missed only by the best tree")
    )
    forest = Forest(gold)
    for name, pattern in CONFUSIONS.items():
        matches = {(match.tree_number, (*match.span, match.node.label)) for match in Pattern(pattern).find(forest)}
        found = Counter((span in defaults[number], span in best[number]) for number, span in matches)
        decoder, model, best_only = found[False, True], found[False, False], found[True, False]
        print_row(name, len(matches), decoder + model, decoder, model, best_only)


def print_constituents(path: Path, parser: Parser) -> None:
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [(row[0].split(), row[1].split(";")) for row in lines if len(row) == 2 and not row[0].startswith("#")]
    trees = parser.parse_many([words for words, _ in rows])
    missing = 0
    for (words, constituents), tree in zip(rows, trees, strict=True):
        spans = {f"{label}={' '.join(words[start:end])}" for start, end, label in tree.spans()}
        for constituent in (constituent for constituent in constituents if constituent not in spans):
            missing += 1
            print(f"missing in {' '.join(words)!r:.60}: {constituent}")
    total = sum(len(constituents) for _, constituents in rows)
    print(f"{total - missing} of {total} constituents")


def print_ambiguities(path: Path, parser: Parser, k: int) -> None:
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    analyses = parser.analyze_many([line[0].split() for line in lines], k=k)
    both = 0
    for (words, *readings), analysis in zip(lines, analyses, strict=True):
        trees = [alternative.tree for alternative in analysis.alternatives]
        ranks = [next((n for n, tree in enumerate(trees, 1) if has_reading(tree, each)), None) for each in readings]
        both += None not in ranks
        print(words, *("-" if rank is None else rank for rank in ranks))
    print(f"both readings among the first {k} trees: {both} of {len(lines)}")


def has_reading(tree: Tree, constituents: str) -> bool:
    """Whether a tree has all constituents of a reading, and none that is marked with `!`."""
    words = tree.words
    spans = {f"{label}={' '.join(words[start:end])}" for start, end, label in tree.spans()}
    return all((wanted.lstrip("!") in spans) is not wanted.startswith("!") for wanted in constituents.split(";"))


def main() -> None:
    options = command_line(__doc__)
    options.add_argument("part", choices=["decoders", "confusions", "constituents", "ambiguities"])
    options.add_argument("inputs", nargs="+", metavar="INPUT")
    options.add_argument("--model", default="en", metavar="M", help="an installed model or a folder")
    options.add_argument("--device", default="cpu")
    options.add_argument("--limit", type=int, metavar="N", help="only the first N trees of each treebank")
    options.add_argument("--best-of", type=int, default=20, metavar="K")
    args = options.parse_args()
    parser = Parser.load(args.model, args.device)
    print(parser)
    paths = [Path(name) for name in args.inputs]
    if args.part == "decoders":
        print_decoders(paths, parser, limit=args.limit, k=args.best_of)
    elif args.part == "confusions":
        print_confusions(paths, parser)
    elif args.part == "constituents":
        print_constituents(paths[0], parser)
    else:
        print_ambiguities(paths[0], parser, args.best_of)


if __name__ == "__main__":
    main()
