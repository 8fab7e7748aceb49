"""Expected numbers of a pattern's matches in the sentences of a text."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from treecrf.parser.parser import Parser
from treecrf.text import sentences
from treecrf.trees.search import ExpectedCount, Forest, Pattern
from treecrf.trees.treebank.lines import Source, read_text


class SentenceCount(NamedTuple):
    """The matches of a sentence, numbered from 1, or of the whole text ("all").

    `matches` is the number of matches in the trees that `parse` gives.
    """

    sentence: str
    matches: int
    expected: ExpectedCount
    words: Sequence[str]


def expected_counts(parser: Parser, pattern: Pattern, source: Source, *, samples: int) -> Iterator[SentenceCount]:
    """The expected number of matches in each sentence of a text, and at the end in all sentences together."""
    if samples < 1:
        raise ValueError(f"the number of samples is {samples}; expected 1 or more")
    totals = np.zeros(samples, np.int64)  # by sample: sentences are independent
    matches = 0
    tokens = sentences(read_text(source), language=parser.language)
    for number, trees in enumerate(parser.sample_many(tokens, samples), 1):
        counts = pattern.count_by_tree(trees.forest)[trees.draws]
        best_count = int(pattern.count_by_tree(Forest.parse(trees.best, head_rules=trees.head_rules))[0])
        totals += counts
        matches += best_count
        yield SentenceCount(str(number), best_count, ExpectedCount.of(counts), trees.words)
    yield SentenceCount("all", matches, ExpectedCount.of(totals), ())
