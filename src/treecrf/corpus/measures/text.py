"""Measures of texts, parsed with samples or given as trees, and their 95 % intervals.

Two intervals answer two questions. Both are a center plus and minus 1.96 standard deviations, and no less than 0.

- Which value would the gold trees of this text have? The standard deviation of sampled trees is multiplied by a factor
  that depends on the measure and on the length of the text.
- Which value would all sentences of this kind have? Sentences are resampled as well, and the variances add up.

The factor is necessary because a parser's errors are not distributed as its samples are. The labels of a sample are
drawn independently of each other given the spans, while errors come together. And a part of the errors does not average
out in a long text: a parser finds too many T-units, for instance, and how many more depends on the kind of text. So for
a text of n sentences whose samples have the standard deviation s, the center is the value plus c s times the root of n,
and the standard deviation is s times the root of a^2 + b^2 n. For each measure, a, b and c are fitted to gold trees
that are no test sets (`benchmarks/measures.py factors`); the folder of the model has them in measures.json.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from treecrf.arrays import Doubles
from treecrf.corpus.measures.structures import COUNTS, MEASURES, compute_measures, count_trees, measures_of_language
from treecrf.files import DamagedFileError, parse_json, read_regular_file
from treecrf.parser import Parser
from treecrf.parser.tree_samples import NORMAL_QUANTILE, TreeSamples
from treecrf.text import Token
from treecrf.trees.bootstrap import Interval, resampled_totals
from treecrf.trees.search import Forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean

T = TypeVar("T")

SAMPLES = 100  # trees per sentence
MAX_WORDS = 2000  # per sentence
_BATCH = 64  # sentences whose trees are searched together
FACTORS_FILE = "measures.json"
RESAMPLES = 1000
_NO_FACTORS = (1.0, 0.0, 0.0)  # errors are distributed as samples are

ErrorFactors = Mapping[str, tuple[float, float, float]]  # a, b and c by measure


def read_error_factors(folder: Path | None) -> ErrorFactors:
    """Reads the factors that were fitted to the model in a folder; empty if there are none."""
    if folder is None or not (folder / FACTORS_FILE).is_file():
        return {}
    content = parse_json(read_regular_file(folder / FACTORS_FILE), folder / FACTORS_FILE)
    factors: ErrorFactors = {}
    with suppress(KeyError, TypeError, ValueError, AttributeError):
        factors = {name: (float(a), float(b), float(c)) for name, (a, b, c) in content["error_factors"].items()}
    if not factors or not np.isfinite([*factors.values()]).all():
        raise DamagedFileError(f"{folder / FACTORS_FILE} does not have three numbers for each measure; copy it again")
    return factors


class Measure(NamedTuple):
    """A measure of a text.

    `value` is the measure of the text's trees. `interval` is for the value that gold trees of the text would have; None
    if the trees are not a parser's. `population` is for the value of all sentences of the kind that the text's
    sentences are drawn from; None if the text has fewer than two sentences.
    """

    value: float
    interval: Interval | None
    population: Interval | None


def measure_text(parser: Parser, text: str, *, samples: int = SAMPLES, seed: int = 0) -> dict[str, Measure]:
    """The measures of a document by their names, with intervals from `samples` trees of each sentence.

    The document is split into sentences as in `Parser.parse_text`. L2SCA's structures and indices are for English; for
    other languages only the measures of trees are returned.
    """
    factors, sampled = read_error_factors(parser.folder), sample_text(parser, text, samples=samples, seed=seed)
    return measure_samples(sampled, language=parser.language, factors=factors, seed=seed)


def measure_trees(trees: Iterable[Tree], *, seed: int = 0) -> dict[str, Measure]:
    """The measures of a text that is given as trees, such as gold trees; they have no `interval`.

    Function tags, empty elements and additional roots are removed first.

    >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP it)) (VP (VBZ works))))))")
    >>> measures = measure_trees([tree])
    >>> [measures[name].value for name in ("W", "C", "T", "C/T", "yngve")]
    [5.0, 2.0, 1.0, 2.0, 0.8]
    """
    counts = [np.zeros((0, len(COUNTS)))]
    clean_trees = (clean(tree) for tree in trees)
    for batch in _batches((tree for tree in clean_trees if tree is not None), _BATCH):
        counts.append(count_trees(Forest(batch)))
    return dict(zip(MEASURES, measure_counts(np.concatenate(counts), None, {}, seed=seed), strict=True))


def measure_samples(
    samples: Iterable[TreeSamples], *, language: str = "en", factors: ErrorFactors | None = None, seed: int = 0
) -> dict[str, Measure]:
    """The measures of a text, given samples of each sentence's trees, as `Parser.sample_many` draws them.

    `factors` are `read_error_factors(parser.folder)`; without them, intervals assume that errors are like samples.
    """
    counts = [np.zeros((0, len(COUNTS)))]
    sampled_totals: Doubles = np.zeros((1, len(COUNTS)))
    for batch in _batches(samples, _BATCH):
        sentence_counts, batch_totals = _count_samples(batch)
        counts.append(sentence_counts)
        sampled_totals = sampled_totals + batch_totals
    values = measure_counts(np.concatenate(counts), sampled_totals, factors or {}, seed=seed)
    measures = dict(zip(MEASURES, values, strict=True))
    return {name: measures[name] for name in measures_of_language(language)}


def sample_text(parser: Parser, text: str, *, samples: int = SAMPLES, seed: int = 0) -> Iterator[TreeSamples]:
    """Draws trees of each sentence of a document."""
    return parser.sample_many(_short_sentences(parser.split_text(text)), samples, seed=seed)


def _short_sentences(sentences: Iterable[Sequence[Token]]) -> Iterator[Sequence[Token]]:
    """The sentences of a document; a sentence that is too long for the memory is an error."""
    for number, tokens in enumerate(sentences, 1):
        if len(tokens) > MAX_WORDS:
            raise ValueError(
                f"sentence {number} has {len(tokens):,} words, from character {tokens[0].start:,} on; expected at most "
                f"{MAX_WORDS:,}: end sentences with punctuation or empty lines"
            )
        yield tokens


def _count_samples(batch: Sequence[TreeSamples]) -> tuple[Doubles, Doubles]:
    """The counts of each sentence's own tree, and the totals of each sample, (samples, counts)."""
    lines = [samples.best for samples in batch]
    first_lines = []  # number of the first sampled tree of each sentence
    for samples in batch:
        first_lines.append(len(lines))
        lines += samples.brackets
    counts = count_trees(Forest.parse("\n".join(lines), head_rules=batch[0].head_rules))
    # the sentences are independent: a sample of the text has the sample of each sentence with the same number
    totals = sum(counts[first + samples.draws] for first, samples in zip(first_lines, batch, strict=True))
    return counts[: len(batch)], np.asarray(totals)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def measure_counts(
    counts: Doubles, sampled_totals: Doubles | None, factors: ErrorFactors, *, seed: int = 0
) -> list[Measure]:
    """The measures of a text in the order of `MEASURES`.

    `counts` has the counts of each sentence, (sentences, counts). `sampled_totals` has totals of the text with sampled
    trees, (samples, counts); None if the trees are not a parser's.
    """
    values = compute_measures(counts.sum(axis=0))
    errors = ParserErrors(np.zeros(len(values)), np.zeros(len(values)))
    if sampled_totals is not None:
        errors = parser_errors(compute_measures(sampled_totals).std(axis=0), len(counts), factors)
    text_intervals = _intervals(values + errors.means, errors.deviations)
    # the deviations over texts whose sentences are drawn with replacement
    resampled = compute_measures(resampled_totals(counts, RESAMPLES, seed=seed, multinomial=True)).std(axis=0)
    population_deviations = np.hypot(errors.deviations, resampled)
    population_intervals = _intervals(values + errors.means, population_deviations)
    return [
        Measure(value, None if sampled_totals is None else text, population if len(counts) > 1 else None)
        for value, text, population in zip(values.tolist(), text_intervals, population_intervals, strict=True)
    ]


class ParserErrors(NamedTuple):
    """The distribution of gold values around the values of parsed trees, for each measure."""

    means: Doubles
    deviations: Doubles


def parser_errors(sample_deviations: Doubles, sentences: int, factors: ErrorFactors) -> ParserErrors:
    """The errors in a text, given the standard deviations of its measures over sampled trees."""
    constant, growing, bias = np.array([factors.get(name, _NO_FACTORS) for name in MEASURES]).T
    root = np.sqrt(sentences)
    return ParserErrors(bias * root * sample_deviations, np.hypot(constant, growing * root) * sample_deviations)


def _intervals(centers: Doubles, deviations: Doubles) -> list[Interval]:
    halves = NORMAL_QUANTILE * deviations
    return [
        Interval(max(0.0, low), high)
        for low, high in zip((centers - halves).tolist(), (centers + halves).tolist(), strict=True)
    ]
