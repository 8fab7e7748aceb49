import json

import numpy as np
import pytest

from small import FIFTY, random_parser
from treecrf.corpus.measures import MEASURES, Interval, measure_samples, measure_trees
from treecrf.corpus.measures.intervals import FACTORS_FILE, parser_errors, read_error_factors
from treecrf.corpus.measures.totals import compute_measures, count_trees
from treecrf.files import DamagedFileError
from treecrf.parser.models import find_folder
from treecrf.trees.search import Forest
from treecrf.trees.treebank import read_trees

TREES = list(read_trees(FIFTY))


@pytest.fixture(scope="module")
def parser():
    return random_parser(TREES, tag_head=True)


def test_gold_trees_have_only_the_interval_of_the_population():
    measures = measure_trees(TREES)
    assert all(measure.interval is None for measure in measures.values())
    for measure in measures.values():
        assert measure.population is not None
        assert measure.population.low <= measure.value <= measure.population.high
    assert measures["S"].population == Interval(50, 50)
    assert measure_trees(TREES[:1])["MLS"].population is None


def test_the_population_interval_covers_the_value_of_the_population():
    """Texts are drawn from a population of sentences whose value is known."""
    generator = np.random.default_rng(0)
    population = {name: measure.value for name, measure in measure_trees(TREES).items()}
    hits = {name: 0 for name in ("MLS", "MLT", "CN/T", "yngve", "depth")}
    for _ in range(100):
        text = [TREES[index] for index in generator.integers(len(TREES), size=25)]
        measures = measure_trees(text)
        for name in hits:
            interval = measures[name].population
            hits[name] += interval is not None and interval.low <= population[name] <= interval.high
    assert all(85 <= count <= 100 for count in hits.values())
    assert sum(hits.values()) > 440


def test_the_interval_follows_from_the_deviation_of_sampled_texts(parser):
    sentences = [tree.words for tree in TREES[:4]]
    samples = list(parser.sample_many(sentences, 50))
    factors = read_error_factors(find_folder("en"))
    measures = measure_samples(samples, factors=factors)
    totals = sum(count_trees(sample.forest)[sample.draws] for sample in samples)
    deviations = compute_measures(totals).std(axis=0)
    best = compute_measures(count_trees(Forest(list(parser.parse_many(sentences)))).sum(axis=0))
    errors = parser_errors(deviations, 4, factors)
    halves = 1.959964 * errors.deviations
    for measure, value, center, half in zip(measures.values(), best, best + errors.means, halves, strict=True):
        assert measure.value == pytest.approx(value)
        assert measure.interval == pytest.approx((max(0, center - half), center + half))
        assert measure.population is not None and measure.population.high >= measure.interval.high


@pytest.mark.parametrize("sentences", [1, 10, 1000, 10**6])
def test_the_interval_contains_the_value_of_the_parsed_trees(sentences):
    errors = parser_errors(np.ones(len(MEASURES)), sentences, read_error_factors(find_folder("en")))
    assert np.all(np.abs(errors.means) <= 1.959964 * errors.deviations)


@pytest.mark.parametrize("name", ["en", "en-lstm"])
def test_a_model_has_factors_for_every_measure(name):
    factors = read_error_factors(find_folder(name))
    assert list(factors) == list(MEASURES)
    assert factors["T"] == (1.46, 0.053, -0.094)


def test_without_factors_errors_are_distributed_like_samples(parser, tmp_path):
    assert read_error_factors(tmp_path) == read_error_factors(None) == {}
    errors = parser_errors(np.array([2.0] * len(MEASURES)), 100, {"W": (3.0, 0.4, -0.1)})
    assert (errors.means[0], errors.deviations[0]) == pytest.approx((-2.0, 10.0))  # -0.1 * 10 * 2 and 2 * hypot(3, 4)
    assert set(errors.means[1:]) == {0.0} and set(errors.deviations[1:]) == {2.0}


@pytest.mark.parametrize(
    "content", [[], {}, {"error_factors": {"W": [1, 2]}}, {"error_factors": {"W": ["a", 1, 2]}}, {"error_factors": 3}]
)
def test_damaged_factors_are_an_error(tmp_path, content):
    (tmp_path / FACTORS_FILE).write_text(json.dumps(content))
    with pytest.raises(DamagedFileError, match="three numbers for each measure"):
        read_error_factors(tmp_path)
