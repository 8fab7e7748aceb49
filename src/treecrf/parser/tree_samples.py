"""Trees drawn from the distribution of a sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.scores import Scores
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.tree_builder import write_brackets
from treecrf.parser.decoding.tree_samples import sample_batch
from treecrf.parser.inputs import Sentences
from treecrf.trees.search import COLLINS, Forest, HeadRules, Pattern
from treecrf.trees.search.expected_count import ExpectedCount
from treecrf.trees.search.heads import HEAD_RULES
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.bracket_writer import BracketWriter


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
        """The tree of each sample."""
        trees = [Tree.parse(text) for text in self.brackets]
        return [trees[draw] for draw in self.draws.tolist()]

    @cached_property
    def forest(self) -> Forest:
        """The distinct trees, for searching."""
        return Forest.parse("\n".join(self.brackets), head_rules=self.head_rules)

    def count(self, pattern: Pattern) -> ExpectedCount:
        """The expected number of matches of a pattern."""
        return ExpectedCount.of(pattern.count_by_tree(self.forest)[self.draws])


def sample_sentences(
    sentences: Sentences,
    scores: Scores,
    distribution: BracketDistribution,
    writer: BracketWriter,
    *,
    best: Sequence[str],
    count: int,
    seed: int,
    language: str,
) -> Iterator[TreeSamples]:
    """Samples of a batch of sentences; those of a sentence depend on the seed and on its number in the input."""
    head_rules = HEAD_RULES.get(language, COLLINS)
    generators = [np.random.default_rng((seed, number)) for number in sentences.numbers]
    batch = sample_batch(scores, distribution, count, generators)
    for index, (derivations, draws) in enumerate(batch):
        trees = 1 + int(draws.max())
        tags = None if sentences.tags is None else [sentences.tags[index]] * trees
        lines = write_brackets(writer, [sentences.words[index]] * trees, tags, derivations)
        numbers: dict[str, int] = {}  # derivations of the same tree become one tree
        tree_numbers = np.array([numbers.setdefault(line, len(numbers)) for line in lines])
        yield TreeSamples(sentences.words[index], best[index], tuple(numbers), tree_numbers[draws], head_rules)
