"""Parses the sentences of a batch and writes each result in the format of its request."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treecrf.parser import Parser
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.formats import Formatter
from treecrf.text import Token
from treecrf.trees.analysis import OutputSentence

_CPU_BATCH_WORDS = 500  # a CPU gains more from sentences of similar length than from large batches
_GPU_BATCH_WORDS = 5000


class SentenceInput(NamedTuple):
    """A sentence of a request."""

    words: Sequence[str] | Sequence[Token]
    offsets: Sequence[tuple[int, int]]
    tags: Sequence[str] | None = None
    constraints: Constraints | None = None


def word_texts(sentence: SentenceInput) -> list[str]:
    """The words of a sentence as they appear in its tree."""
    return [word.tree_word if isinstance(word, Token) else word for word in sentence.words]


@dataclass(frozen=True, kw_only=True)
class ParseOptions:
    """The options of a request, which hold for all of its sentences."""

    model: str
    formatter: Formatter
    mbr: bool = True
    marginals: bool = False


SentenceResult = str | Exception  # the parsed sentence in the request's format, or an error


def parse_sentences(
    parsers: Mapping[str, Parser],
    options: ParseOptions,
    sentences: Sequence[SentenceInput],
    should_stop: Callable[[], bool] | None = None,
) -> list[SentenceResult]:
    """Parses sentences together and returns one result per sentence.

    When `should_stop` returns true, the search for alternatives ends early, because the results are not needed.

    Either all sentences have tags or none has, and the same for constraints. If the batch fails, each sentence is
    parsed by itself, so that only the sentences at fault have errors.
    """
    try:
        parsed_sentences = _parse(parsers[options.model], options, sentences, should_stop)
        return [options.formatter.sentence(parsed) for parsed in parsed_sentences]
    except Exception as error:
        if len(sentences) == 1:
            return [error]
    return [result for sentence in sentences for result in parse_sentences(parsers, options, [sentence], should_stop)]


def _parse(
    parser: Parser, options: ParseOptions, sentences: Sequence[SentenceInput], should_stop: Callable[[], bool] | None
) -> Iterator[OutputSentence]:
    words = [sentence.words for sentence in sentences]
    tags = [sentence.tags for sentence in sentences if sentence.tags is not None] or None
    constraints = [sentence.constraints for sentence in sentences] if sentences[0].constraints else None
    batch_words = _CPU_BATCH_WORDS if parser.device == "cpu" else _GPU_BATCH_WORDS
    k = options.formatter.kbest
    if options.formatter.probs or k:
        analyses = parser.analyze_many(
            words,
            k=k,
            tags=tags,
            constraints=constraints,
            batch_words=batch_words,
            mbr=options.mbr,
            should_stop=should_stop,
        )
        for sentence, analysis in zip(sentences, analyses, strict=True):
            yield OutputSentence(analysis.tree, sentence.offsets, analysis, _marginals(parser, options, sentence))
        return
    trees = parser.parse_many(words, tags=tags, constraints=constraints, batch_words=batch_words, mbr=options.mbr)
    for sentence, tree in zip(sentences, trees, strict=True):
        yield OutputSentence(tree, sentence.offsets, None, _marginals(parser, options, sentence))


def _marginals(parser: Parser, options: ParseOptions, sentence: SentenceInput) -> list[list[float]] | None:
    """The probability of words[i:j], in row i for every j > i, if the options ask for it."""
    if not options.marginals:
        return None
    tags = None if sentence.tags is None else [sentence.tags]
    (window,) = parser.reader.windows([sentence.words], tags, [sentence.constraints], sizes=[1])
    chart = BracketDistribution.of(parser.batch_scorer(window)).marginals[0].clip(0.0, 1.0).tolist()
    return [row[start + 1 :] for start, row in enumerate(chart[:-1])]
