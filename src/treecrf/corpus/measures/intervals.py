"""95 % intervals of a text's measures.

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

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles
from treecrf.corpus.measures.totals import MEASURES, compute_measures
from treecrf.files import DamagedFileError, parse_json, read_regular_file
from treecrf.trees.bootstrap import Interval, resampled_totals

FACTORS_FILE = "measures.json"
RESAMPLES = 1000
_NORMAL_QUANTILE = 1.959964  # the quantile of 97.5 %
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
    halves = _NORMAL_QUANTILE * deviations
    return [
        Interval(max(0.0, low), high)
        for low, high in zip((centers - halves).tolist(), (centers + halves).tolist(), strict=True)
    ]
