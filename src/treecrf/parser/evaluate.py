"""An exam: the words of gold trees parsed anew, and scored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treecrf.evalb import COLLINS, Rules, Score, evaluate
from treecrf.parser import Parser
from treecrf.text import Token
from treecrf.tree import Tree
from treecrf.treebank import clean


@dataclass(frozen=True, kw_only=True)
class ParserScores:
    """How well a parser does with its own tags, if it predicts any, and with gold tags."""

    predicted: Score | None
    given: Score

    @property
    def first(self) -> Score:
        """The score with the parser's own tags, or else with gold ones."""
        return self.predicted or self.given


def evaluate_parser(
    parser: Parser, gold: Iterable[Tree], *, rules: Rules = COLLINS, mbr: bool = True, lowercase: bool = False
) -> ParserScores:
    """Parse the words of gold trees, by choice read in lower case, and score what comes out.

    Empty elements of gold trees are no words. A wrong tag of punctuation makes a sentence an error to EVALB, and after
    some of them it gives up, unless the rules say otherwise.
    """
    trees = [cleaned for tree in gold if (cleaned := clean(tree, keep_labels=True))]
    sentences = [_lowered(tree.words) if lowercase else tree.words for tree in trees]

    def score(tags: Sequence[Sequence[str]] | None) -> Score:
        return evaluate(trees, parser.parse_many(sentences, tags=tags, mbr=mbr), rules=rules)

    config = parser.model.config
    return ParserScores(
        predicted=score(None) if config.tag_head and not config.tag_size else None,
        given=score([tree.tags for tree in trees]),
    )


def _lowered(words: Sequence[str]) -> list[Token]:
    """Words that are read in lower case and stand in the tree as they are."""
    return [Token(word, 0, 0, word.lower()) for word in words]
