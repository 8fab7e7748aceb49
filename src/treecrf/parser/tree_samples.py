"""Trees drawn from the distribution of a sentence, and expected numbers of a pattern's matches in them.

A sample is a derivation, see `decoding/tree_distribution.py`: a bracketing by its probability, a label for each span by
its probability given the span, and a tag for each word by its probability. So each tree occurs with its exact
probability.
`chart/torch_backend.py` draws bracketings as tensors.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints, Mask
from treecrf.chart import numpy_backend
from treecrf.files import Source
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.log_space import log_softmax
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.parser.pipeline import Sentences
from treecrf.trees.search import COLLINS, Forest, HeadRules, Pattern
from treecrf.trees.search.heads import HEAD_RULES
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.bracket_writer import FlatTrees
from treecrf.trees.treebank.lines import read_text

if TYPE_CHECKING:
    from treecrf.parser.distributions import Distributions
    from treecrf.parser.parser import Parser

NORMAL_QUANTILE = 1.959964  # the 97.5 % quantile


@dataclass(frozen=True)
class ExpectedCount:
    """The expected number of matches, estimated from sampled trees.

    `mean_low` and `mean_high` are a 95 % confidence interval of the mean: they tell how precise the estimate is, and
    get closer with more samples. `low` and `high` contain the counts of the middle 95 % of the samples: they tell how
    sure the parser is. `probabilities` has the share of samples with each count.
    """

    mean: float
    mean_low: float
    mean_high: float
    low: int
    high: int
    probabilities: dict[int, float]
    samples: int

    @classmethod
    def of(cls, counts: Ints) -> "ExpectedCount":
        """The expected count of samples with these numbers of matches.

        >>> count = ExpectedCount.of(np.array([1, 1, 0, 1]))
        >>> count.mean, count.probabilities
        (0.75, {0: 0.25, 1: 0.75})
        """
        samples = len(counts)
        mean = float(counts.mean())
        # two more samples, one match away from the mean, so that samples that agree do not give an empty interval
        variance = (float(((counts - mean) ** 2).sum()) + 2) / (samples + 2)
        error = NORMAL_QUANTILE * math.sqrt(variance / samples)
        low, high = np.quantile(counts, [0.025, 0.975], method="inverted_cdf").tolist()
        values, sizes = np.unique(counts, return_counts=True)
        probabilities = dict(zip(values.tolist(), (sizes / samples).tolist(), strict=True))
        return cls(mean, max(0.0, mean - error), mean + error, int(low), int(high), probabilities, samples)


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
    parser: "Distributions", batch: Sentences, scores: Scores, *, count: int, seed: int
) -> Iterator[TreeSamples]:
    """Draws samples of a batch of sentences.

    The samples of a sentence depend on the seed and on its number in the input.
    """
    best = decode(scores, expected_f1=parser.expected_f1)
    writer = parser.tree_builder.bracket_writer(exact=True)
    best_lines = writer.lines(batch.words, best, tags=batch.tags)
    head_rules = HEAD_RULES.get(parser.language, COLLINS)
    generators = [np.random.default_rng((seed, number)) for number in batch.numbers]
    samples = sample_batch(parser.tree_distribution(scores), count, generators)
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
    tokens = parser.split_text(read_text(source))
    for number, trees in enumerate(parser.sample_many(tokens, samples), 1):
        counts = pattern.count_by_tree(trees.forest)[trees.draws]
        best_count = int(pattern.count_by_tree(Forest.parse(trees.best, head_rules=trees.head_rules))[0])
        totals += counts
        matches += best_count
        yield SentenceCount(str(number), best_count, ExpectedCount.of(counts), trees.words)
    yield SentenceCount("all", matches, ExpectedCount.of(totals), ())


def sample_batch(
    distribution: TreeDistribution, count: int, generators: list[np.random.Generator]
) -> Iterator[tuple[FlatTrees, Ints]]:
    """Draws `count` trees of each sentence, with its own generator.

    Yields the distinct derivations of a sentence, and the number of the derivation that each sample is.
    """
    for sentence, generator in enumerate(generators):
        yield _distinct(*_sample_sentence(distribution, sentence, count, generator))


def _sample_sentence(
    distribution: TreeDistribution, sentence: int, count: int, generator: np.random.Generator
) -> tuple[Ints, Ints, Ints, Ints | None]:
    """Starts, ends and labels (count, 2n - 1), and tags (count, n) if the model predicts tags."""
    scores = distribution.scores
    length = int(scores.lengths[sentence])
    starts, ends, is_right = _sample_bracketings(distribution.chart[sentence], length, count, generator)
    is_right &= (ends - starts > 1) & (not distribution.all_derivations)
    keys = 2 * distribution.cells(sentence, starts, ends) + is_right
    distinct_keys, rows = np.unique(keys, return_inverse=True)
    potentials = distribution.potentials(distinct_keys // 2)
    # a right child of two or more words is a constituent
    potentials[np.ix_(distinct_keys % 2 == 1, distribution.is_free(sentence))] = -np.inf
    labels = sample_rows(np.exp(log_softmax(potentials)), rows.ravel(), generator).reshape(starts.shape)
    tags = None
    if scores.tags is not None:
        tag_weights = np.exp(log_softmax(scores.tags[sentence, :length]))
        words = np.tile(np.arange(length), count)
        tags = sample_rows(tag_weights, words, generator).reshape(count, length)
    return starts, ends, labels, tags


def _distinct(starts: Ints, ends: Ints, labels: Ints, tags: Ints | None) -> tuple[FlatTrees, Ints]:
    columns = [starts, ends, labels] if tags is None else [starts, ends, labels, tags]
    numbers: dict[bytes, int] = {}
    draws = [numbers.setdefault(row.tobytes(), len(numbers)) for row in np.hstack(columns)]
    _, firsts = np.unique(draws, return_index=True)
    flat_tags = None if tags is None else tags[firsts].ravel()
    starts, ends, labels = (column[firsts].ravel() for column in (starts, ends, labels))
    return FlatTrees(starts, ends, labels, flat_tags), np.array(draws)


def _sample_bracketings(
    chart: Doubles, length: int, count: int, generator: np.random.Generator
) -> tuple[Ints, Ints, Mask]:
    """`count` random bracketings of one sentence, (count, 2n - 1): starts, ends, and whether spans are right children.

    `chart` has the scores of spans and the additional scores r of right children, (2, n + 1, n + 1); it may be padded.
    A span (i, j) is split at k with probability proportional to exp(beta(i, k) + r(k, j) + beta(k, j)). Spans are
    visited from wide to narrow, and all samples that have a span are split at once.
    """
    chart = chart[:, : length + 1, : length + 1]
    beta = numpy_backend.inside(chart[None], np.array([length]))[0][0]
    right_beta = beta + chart[1]
    spans = np.empty((count, 2 * length - 1, 3), np.int64)
    span_counts = np.zeros(count, np.int64)  # spans of each sample so far
    # by width, the samples that have the span at a start, as a right child or not
    pending: list[dict[tuple[int, bool], list[Ints]]] = [{} for _ in range(length + 1)]
    pending[length][0, False] = [np.arange(count)]
    for width in range(length, 0, -1):
        for (start, is_right), groups in pending[width].items():
            samples, end = np.concatenate(groups), start + width
            spans[samples, span_counts[samples]] = start, end, is_right
            span_counts[samples] += 1
            if width == 1:
                continue
            log_weights = beta[start, start + 1 : end] + right_beta[start + 1 : end, end]
            weights = np.exp(log_weights - log_weights.max())[None]
            left_widths = 1 + sample_rows(weights, np.zeros(len(samples), np.int64), generator)
            for left_width in np.flatnonzero(np.bincount(left_widths)).tolist():
                group = samples[left_widths == left_width]
                pending[left_width].setdefault((start, False), []).append(group)
                pending[width - left_width].setdefault((start + left_width, True), []).append(group)
    order = np.argsort(spans[..., 0] * (length + 1) + spans[..., 1], axis=1)
    starts, ends, is_right_child = np.moveaxis(np.take_along_axis(spans, order[..., None], 1), -1, 0)
    return starts, ends, is_right_child.astype(np.bool_)


def sample_rows(weights: Doubles, rows: Ints, generator: np.random.Generator) -> Ints:
    """A random column of each of these rows of `weights`, with probability proportional to its weight."""
    choices = weights.shape[1]
    cumulative = weights.cumsum(axis=1)
    cumulative /= cumulative[:, -1:]
    # the rows one after the other in one ascending list, each in an interval of length 1
    thresholds = (cumulative + np.arange(len(weights))[:, None]).ravel()
    # below the end of the interval even after rounding, so that no column of weight 0 is chosen
    points = np.minimum(rows + generator.random(len(rows)), np.nextafter(rows + 1.0, 0.0))
    columns: Ints = np.searchsorted(thresholds, points, side="right") - rows * choices
    return columns
