"""Scores a parser: parses the words of gold trees and compares its trees with them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from treecrf.parser.parser import Parser
from treecrf.text import Token
from treecrf.trees.evalb import COLLINS, Rules, Score, evaluate
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean
from treecrf.trees.treebank.well_formed import Production, WellFormednessComparison, compare_well_formedness


@dataclass(frozen=True, kw_only=True)
class ParserScores:
    """The scores of the same trees over all sentences and by EVALB, which leaves out wrong punctuation tags."""

    all_sentences: Score  # punctuation is deleted by the gold tags
    evalb: Score  # punctuation is deleted by the tags of each tree; equal if the parser predicts no tags
    well_formedness: WellFormednessComparison | None  # None if nothing can be counted


def evaluate_parser(
    parser: Parser, gold: Iterable[Tree], *, rules: Rules = COLLINS, mbr: bool = True, lowercase: bool = False
) -> ParserScores:
    """Parses the words of gold trees like `predict_trees`, and scores the resulting trees.

    Empty elements of gold trees are not words. EVALB counts a sentence with a wrong punctuation tag as an error, and
    stops after some errors, unless the rules say otherwise.
    """
    trees = [cleaned for tree in gold if (cleaned := clean(tree, keep_labels=True))]
    predicted = list(predict_trees(parser, trees, mbr=mbr, lowercase=lowercase))
    return score_trees(trees, predicted, rules, known_productions=parser.productions or None)


def predict_trees(parser: Parser, gold: Sequence[Tree], *, mbr: bool = True, lowercase: bool = False) -> Iterator[Tree]:
    """The parser's trees of the words of gold trees; with `lowercase`, it reads the words in lower case.

    A parser that predicts no tags, or reads tags, gets the gold tags, as in the paper.
    """
    sentences: list[Sequence[str] | Sequence[Token]] = [tree.words for tree in gold]
    if lowercase:  # the words appear in the tree unchanged
        sentences = [[Token(word, 0, 0, word.lower()) for word in tree.words] for tree in gold]
    tags = None if has_own_tags(parser) else [tree.tags for tree in gold]
    return parser.parse_many(sentences, tags=tags, mbr=mbr)


def score_trees(
    gold: Sequence[Tree],
    predicted: Sequence[Tree],
    rules: Rules = COLLINS,
    *,
    known_productions: Collection[Production] | None = None,
) -> ParserScores:
    """Scores the trees that a parser has predicted; `known_productions` are in its training trees."""
    return ParserScores(
        all_sentences=evaluate(gold, predicted, rules=rules, use_gold_tags=True),
        evalb=evaluate(gold, predicted, rules=rules),
        well_formedness=compare_well_formedness([clean(tree) or tree for tree in gold], predicted, known_productions),
    )


def has_own_tags(parser: Parser) -> bool:
    """Whether a parser predicts tags and needs none as input."""
    config = parser.model_config
    return config.tag_head and not config.tag_size
