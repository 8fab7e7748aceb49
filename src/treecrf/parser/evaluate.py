"""Scores a parser: parses the words of gold trees and compares its trees with them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treecrf.evalb import COLLINS, Rules, Score, evaluate
from treecrf.parser.parser import Parser
from treecrf.text import Token
from treecrf.tree import Tree
from treecrf.treebank import clean


@dataclass(frozen=True, kw_only=True)
class ParserScores:
    """The scores of a parser with predicted tags, if it predicts tags, and with gold tags."""

    predicted_tags: Score | None
    gold_tags: Score

    @property
    def main(self) -> Score:
        """The score with predicted tags, or else with gold tags."""
        return self.predicted_tags or self.gold_tags


def evaluate_parser(
    parser: Parser, gold: Iterable[Tree], *, rules: Rules = COLLINS, mbr: bool = True, lowercase: bool = False
) -> ParserScores:
    """Parses the words of gold trees, lower-cased if `lowercase`, and scores the resulting trees.

    Empty elements of gold trees are not words. EVALB counts a sentence with a wrong punctuation tag as an error, and
    stops after some errors, unless the rules say otherwise.
    """
    trees = [cleaned for tree in gold if (cleaned := clean(tree, keep_labels=True))]
    sentences = [_lowercase(tree.words) if lowercase else tree.words for tree in trees]

    def score(tags: Sequence[Sequence[str]] | None) -> Score:
        return evaluate(trees, parser.parse_many(sentences, tags=tags, mbr=mbr), rules=rules)

    return ParserScores(
        predicted_tags=score(None) if has_own_tags(parser) else None,
        gold_tags=score([tree.tags for tree in trees]),
    )


def has_own_tags(parser: Parser) -> bool:
    """Whether a parser predicts tags and needs none as input."""
    config = parser.model_config
    return config.tag_head and not config.tag_size


def evaluation_tags(parser: Parser, trees: Sequence[Tree]) -> list[list[str]] | None:
    """The tags with which a parser is scored on gold trees.

    None if the parser predicts tags and needs none as input, or else, as in the paper, the gold tags.
    """
    return None if has_own_tags(parser) else [tree.tags for tree in trees]


def _lowercase(words: Sequence[str]) -> list[Token]:
    """Words that the model reads in lower case and that appear in the tree unchanged."""
    return [Token(word, 0, 0, word.lower()) for word in words]
