"""The parser with NLTK's interface: it returns `nltk.ProbabilisticTree`s."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

try:
    from nltk.parse.api import ParserI
    from nltk.tree import ProbabilisticTree
except ImportError as error:
    raise ImportError("the NLTK parser needs NLTK: pip install 'treecrf[nltk]'") from error

from treecrf.parser import Parser
from treecrf.text import Token
from treecrf.trees.tree import Tree

_WINDOW = 1000  # sentences that are read and parsed together

Sentence = str | Sequence[str] | Sequence[tuple[str, str | None]] | Sequence[Token]
_TaggedWords = tuple[Sequence[str] | Sequence[Token], Sequence[str | None] | None]


class NLTKParser(ParserI):  # type: ignore[misc]  # NLTK has no types
    """Parses sentences into trees with probabilities.

    A sentence is a list of words, a list of (word, tag) pairs as `nltk.pos_tag` returns them, or raw text. A sentence
    without words has no trees. With `k`, a sentence has its k most probable trees; otherwise the tree of
    `Parser.parse`.
    """

    def __init__(
        self,
        parser: Parser | str | Path = "en",
        *,
        k: int | None = None,
        device: str | None = None,
        batch_words: int = 5000,
        mbr: bool = True,
    ) -> None:
        if k is not None and k < 1:
            raise ValueError(f"k is {k}; expected 1 or more trees, or None for the tree of Parser.parse")
        self.parser = parser if isinstance(parser, Parser) else Parser.load(parser, device=device)
        self.k = k
        self.batch_words = batch_words
        self.mbr = mbr

    def parse(self, sent: Sentence) -> Iterator[Any]:
        """The trees of one sentence, the most probable tree first."""
        (trees,) = self.parse_sents([sent])
        return trees

    def parse_sents(self, sents: Iterable[Sentence]) -> Iterator[Iterator[Any]]:
        """The trees of each sentence, in input order; a thousand sentences are read and parsed together."""
        sentences = enumerate(sents)
        while window := [self._read(number, sentence) for number, sentence in islice(sentences, _WINDOW)]:
            analyses = self.parser.analyze_many(
                [words for words, _ in window if words],
                k=self.k or 0,
                tags=[tags for words, tags in window if words],
                batch_words=self.batch_words,
                mbr=self.mbr,
            )
            for words, _ in window:
                if not words:
                    yield iter(())
                    continue
                analysis = next(analyses)
                # NLTK promises the most probable trees in their order
                alternatives = sorted(analysis.alternatives, key=lambda alternative: -alternative.log_prob)
                results = tuple(alternatives) if self.k else [analysis]
                yield iter([_probabilistic_tree(result.tree, result.log_prob) for result in results])

    def grammar(self) -> NoReturn:
        """Raises an error: the trees come from a network, not from a grammar."""
        raise NotImplementedError("a neural parser has no grammar; its labels are parser.vocabulary.labels")

    def _read(self, number: int, sentence: Sentence) -> _TaggedWords:
        items = self.parser.tokenize(sentence) if isinstance(sentence, str) else list(sentence)
        words, tags = _split_tags(number, items)
        if words and self.parser.model_config.tag_size and (tags is None or None in tags):
            raise ValueError(f"sentence {number} lacks tags and the model reads them; give (word, tag) pairs")
        return words, tags


def _split_tags(number: int, items: list[Any]) -> _TaggedWords:
    """The words of a sentence, and its tags if it has tags."""
    if all(isinstance(item, str) for item in items) or all(isinstance(item, Token) for item in items):
        return items, None
    if all(_is_tagged(item) for item in items):
        return [word for word, _ in items], [tag for _, tag in items]
    raise TypeError(f"sentence {number} is {items!r:.80}; expected words, (word, tag) pairs, or a string of raw text")


def _is_tagged(item: Any) -> bool:
    is_pair = isinstance(item, tuple) and len(item) == 2
    return is_pair and isinstance(item[0], str) and isinstance(item[1], str | None)


def _probabilistic_tree(tree: Tree, log_prob: float) -> Any:
    """The tree as an `nltk.ProbabilisticTree`, whose log-probability has base 2."""
    nltk_tree = tree.to_nltk()
    return ProbabilisticTree(nltk_tree.label(), list(nltk_tree), logprob=log_prob / math.log(2))
