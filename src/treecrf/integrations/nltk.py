"""The parser as NLTK knows parsers: sentences in, `nltk.ProbabilisticTree`s out."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

try:
    from nltk.parse.api import ParserI
    from nltk.tree import ProbabilisticTree
except ImportError as error:
    raise ImportError("the NLTK parser needs NLTK: pip install 'treecrf[nltk]'") from error

from treecrf.parser import Parser
from treecrf.text import Token, tokenize
from treecrf.tree import Tree

_WINDOW = 1000  # sentences that are read and parsed at a time

Sentence = str | Sequence[str] | Sequence[tuple[str, str | None]] | Sequence[Token]


class _Read(NamedTuple):
    """A sentence as the parser takes it."""

    words: Sequence[str] | Sequence[Token]
    tags: Sequence[str | None] | None


class NLTKParser(ParserI):  # type: ignore[misc]  # NLTK has no types
    """Gives the trees of sentences, and their probabilities.

    A sentence is a list of words, of (word, tag) pairs as `nltk.pos_tag` makes them, or raw text; one without words
    has no trees. With `k`, the k most probable trees come in their order, without it the one that `Parser.parse` gives.
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
            raise ValueError(f"k is {k}; expected 1 or more trees, or None for the one that Parser.parse gives")
        self.parser = parser if isinstance(parser, Parser) else Parser.load(parser, device=device)
        self.k = k
        self.batch_words = batch_words
        self.mbr = mbr

    def parse(self, sent: Sentence) -> Iterator[Any]:
        """The trees of one sentence, the most probable one first."""
        (trees,) = self.parse_sents([sent])
        return trees

    def parse_sents(self, sents: Iterable[Sentence]) -> Iterator[Iterator[Any]]:
        """The trees of each sentence, in their order; a thousand sentences are read and parsed at a time."""
        sentences = enumerate(sents)
        while window := [self._read(number, sentence) for number, sentence in islice(sentences, _WINDOW)]:
            filled = [sentence for sentence in window if sentence.words]
            analyses = self.parser.analyze_many(
                [sentence.words for sentence in filled],
                k=self.k or 0,
                tags=[sentence.tags for sentence in filled],
                batch_words=self.batch_words,
                mbr=self.mbr,
            )
            for sentence in window:
                if not sentence.words:
                    yield iter(())
                    continue
                analysis = next(analyses)
                found = analysis.alternatives if self.k else [analysis]
                yield iter([_probabilistic(one.tree, one.log_prob) for one in found])

    def grammar(self) -> NoReturn:
        """There is none: trees come from a network's scores, not from rules."""
        raise NotImplementedError("a neural parser has no grammar; its labels are parser.vocabulary.labels")

    def _read(self, number: int, sentence: Sentence) -> _Read:
        if isinstance(sentence, str):
            read = _Read(tokenize(sentence, language=self.parser.language), None)
        else:
            read = _split(number, list(sentence))
        if read.words and self.parser.model.config.tag_size and (read.tags is None or None in read.tags):
            raise ValueError(f"sentence {number} lacks tags and the model reads them; give (word, tag) pairs")
        return read


def _split(number: int, items: list[Any]) -> _Read:
    """The words of a sentence, and its tags if it has them."""
    if all(isinstance(item, str) for item in items) or all(isinstance(item, Token) for item in items):
        return _Read(items, None)
    if all(_is_tagged(item) for item in items):
        return _Read([word for word, _ in items], [tag for _, tag in items])
    raise TypeError(f"sentence {number} is {items!r:.80}; expected words, (word, tag) pairs, or a string of raw text")


def _is_tagged(item: Any) -> bool:
    is_pair = isinstance(item, tuple) and len(item) == 2
    return is_pair and isinstance(item[0], str) and isinstance(item[1], str | None)


def _probabilistic(tree: Tree, log_prob: float) -> Any:
    """A tree for NLTK, which counts log-probabilities in bits."""
    copy = tree.to_nltk()
    return ProbabilisticTree(copy.label(), list(copy), logprob=log_prob / math.log(2))
