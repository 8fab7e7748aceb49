"""95 % intervals of a text's measures.

Two intervals answer two questions. Both are the value plus and minus 1.96 standard deviations, and no less than 0.

- Which value would the gold trees of this text have? The standard deviation is that of sampled trees, times a factor
  that depends on the measure and on the length of the text.
- Which value would all sentences of this kind have? Sentences are resampled as well, and the variances add up.

The factor is there because a parser's errors are not distributed as its samples are. The labels of a sample are drawn
independently of each other given the spans, while errors come together. And a part of the errors does not average out
in a long text: it comes from the style of the trees, not from chance. So the factor for n sentences is the root of
a^2 + b^2 n. For each measure, a and b have been fitted to texts of gold sentences of development sets.
"""

from typing import NamedTuple

import numpy as np

from treecrf.chart.cpu_backend import Doubles
from treecrf.measures.error_factors import ERROR_FACTORS
from treecrf.measures.totals import MEASURES, compute_measures

RESAMPLES = 1000
_NORMAL_QUANTILE = 1.959964  # of 97.5 %
_BLOCK = 1 << 20  # weights of resampled sentences in memory at once


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


class Measure(NamedTuple):
    """A measure of a text.

    `value` is that of the text's trees. `interval` is for the value that gold trees of the text would have; None if the
    trees are not a parser's. `population` is for the value of all sentences of the kind that the text's sentences are
    drawn from; None if the text has fewer than two sentences.
    """

    value: float
    interval: Interval | None
    population: Interval | None


def measure_counts(counts: Doubles, sampled_totals: Doubles | None, *, seed: int = 0) -> list[Measure]:
    """The measures of a text in the order of `MEASURES`.

    `counts` has the counts of each sentence, (sentences, counts). `sampled_totals` has totals of the text with sampled
    trees, (samples, counts); None if the trees are not a parser's.
    """
    values = compute_measures(counts.sum(axis=0))
    parser_deviations = np.zeros(len(values))
    if sampled_totals is not None:
        parser_deviations = error_factors(len(counts)) * compute_measures(sampled_totals).std(axis=0)
    measures = []
    population_deviations = np.hypot(parser_deviations, _resampling_deviations(counts, seed))
    for value, own, population in zip(
        values.tolist(), parser_deviations.tolist(), population_deviations.tolist(), strict=True
    ):
        interval = None if sampled_totals is None else _interval(value, own)
        measures.append(Measure(value, interval, _interval(value, population) if len(counts) > 1 else None))
    return measures


def error_factors(sentences: int) -> Doubles:
    """The ratio of a parser's errors to the deviation of its samples, for each measure of a text of this length."""
    constant, growing = np.array([ERROR_FACTORS[name] for name in MEASURES]).T
    factors: Doubles = np.hypot(constant, growing * np.sqrt(sentences))
    return factors


def _interval(value: float, deviation: float) -> Interval:
    half = _NORMAL_QUANTILE * deviation
    return Interval(max(0.0, value - half), value + half)


def _resampling_deviations(counts: Doubles, seed: int) -> Doubles:
    """The standard deviations of the measures over texts whose sentences are drawn with replacement."""
    sentences = len(counts)
    generator = np.random.default_rng(seed)
    totals = np.zeros((RESAMPLES, counts.shape[1]))
    if sentences:
        block = max(1, _BLOCK // sentences)
        for first in range(0, RESAMPLES, block):
            rows = min(block, RESAMPLES - first)
            weights = generator.multinomial(sentences, np.full(sentences, 1 / sentences), size=rows)
            totals[first : first + rows] = weights @ counts
    deviations: Doubles = compute_measures(totals).std(axis=0)
    return deviations
