"""Trees drawn from the distribution of a sentence, and expected numbers of a pattern's matches in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.tree_samples import sample_batch
from treecrf.parser.inputs import Sentences
from treecrf.text import sentences
from treecrf.trees.search import COLLINS, ExpectedCount, Forest, HeadRules, Pattern
from treecrf.trees.search.heads import HEAD_RULES
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.lines import Source, read_text

if TYPE_CHECKING:
    from treecrf.parser.parser import Parser


@dataclass(frozen=True)
class TreeSamples:
    """Exact samples of a sentence's trees: the distinct trees in brackets, and the tree that each sample is.

    `best` has the brackets of the tree that `parse` returns.
    """

    words: Sequence[str]
    best: str
    brackets: tuple[str, ...]
    draws: Ints  # (samples,): numbers in `brackets`
    head_rules: HeadRules

    @property
    def trees(self) -> list[Tree]:
        trees = [Tree.parse(text) for text in self.brackets]
        return [trees[draw] for draw in self.draws.tolist()]

    @cached_property
    def forest(self) -> Forest:
        """The distinct trees, for searching."""
        return Forest.parse("\n".join(self.brackets), head_rules=self.head_rules)

    def count(self, pattern: str | Pattern) -> ExpectedCount:
        compiled = Pattern(pattern) if isinstance(pattern, str) else pattern
        return ExpectedCount.of(compiled.count_by_tree(self.forest)[self.draws])


def sample_sentences(
    parser: "Parser", batch: Sentences, scores: Scores, *, count: int, seed: int
) -> Iterator[TreeSamples]:
    """Draws samples of a batch of sentences.

    The samples of a sentence depend on the seed and on its number in the input.
    """
    distribution = BracketDistribution.of(scores)
    best = decode(scores, expected_f1=parser.expected_f1, distribution=distribution)
    writer = parser.tree_builder.bracket_writer(exact=True)
    best_lines = writer.lines(batch.words, best, tags=batch.tags)
    head_rules = HEAD_RULES.get(parser.language, COLLINS)
    generators = [np.random.default_rng((seed, number)) for number in batch.numbers]
    samples = sample_batch(scores, distribution, count, generators)
    for index, (derivations, draws) in enumerate(samples):
        trees = 1 + int(draws.max())
        tags = None if batch.tags is None else [batch.tags[index]] * trees
        lines = writer.lines([batch.words[index]] * trees, derivations, tags=tags)
        numbers: dict[str, int] = {}  # derivations of the same tree become one tree
        tree_numbers = np.array([numbers.setdefault(line, len(numbers)) for line in lines])
        yield TreeSamples(batch.words[index], best_lines[index], tuple(numbers), tree_numbers[draws], head_rules)


class SentenceCount(NamedTuple):
    """The matches of a sentence, numbered from 1, or of the whole text ("all").

    `matches` is the number of matches in the trees that `parse` gives.
    """

    sentence: str
    matches: int
    expected: ExpectedCount
    words: Sequence[str]


def expected_counts(parser: "Parser", pattern: Pattern, source: Source, *, samples: int) -> Iterator[SentenceCount]:
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
