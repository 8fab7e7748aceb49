import json

import numpy as np
import pytest

from small import FIFTY, random_parser
from treecrf.corpus.measures import MEASURES, Interval, measure_samples, measure_text, measure_trees
from treecrf.corpus.measures.structures import compute_measures, count_trees
from treecrf.corpus.measures.text import FACTORS_FILE, parser_errors, read_error_factors
from treecrf.files import DamagedFileError
from treecrf.parser import Parser
from treecrf.parser.models import find_folder
from treecrf.trees.search import Forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREES = list(read_trees(FIFTY))


@pytest.fixture(scope="module")
def parser():
    return random_parser(TREES, tag_head=True)


def values(trees, names=tuple(MEASURES)):
    measures = measure_trees(trees)
    return {name: measures[name].value for name in names}


def test_function_tags_empty_elements_and_roots_do_not_matter():
    text = "( (S (NP-SBJ-1 (PRP We)) (VP (VBD tried) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB go)))))))"
    bare = "(S (NP (PRP We)) (VP (VBD tried) (S (VP (TO to) (VP (VB go))))))"
    assert values([Tree.parse(text)]) == values([Tree.parse(bare)]) == values([Tree.parse(f"(ROOT {bare})")])


def test_a_text_without_sentences_has_only_zeros(parser):
    measures = measure_text(parser, " \n\n ")
    assert {measure.value for measure in measures.values()} == {0.0}


def test_an_endless_sentence_is_an_error(parser):
    with pytest.raises(ValueError, match="sentence 2 has 2,001 words, from character 5 on; expected at most 2,000"):
        measure_text(parser, "No.\n\n" + "a " * 2001)


def test_other_languages_have_no_l2sca(parser):
    (samples,) = parser.sample_many([["a", "b"]], 2)
    assert [*measure_samples([samples], language="zh")][:4] == ["W", "S", "MLS", "nodes"]


def test_the_intervals_of_a_text_have_the_factors_of_its_model(tmp_path):
    random_parser(TREES, tag_head=True).save(tmp_path)
    text = " ".join(TREES[3].words)
    plain = measure_text(Parser.load(tmp_path, "cpu"), text, samples=20)["depth"]
    (tmp_path / "measures.json").write_text('{"error_factors": {"depth": [3.0, 0.0, 0.0]}}')
    wide = measure_text(Parser.load(tmp_path, "cpu"), text, samples=20)["depth"]
    assert plain.interval is not None and wide.interval is not None
    assert wide.interval.high - wide.value == pytest.approx(3 * (plain.interval.high - plain.value))
    assert wide.interval.high > plain.interval.high


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


def test_sentences_are_counted_in_batches(parser, monkeypatch):
    trees = TREES[:5]
    samples = list(parser.sample_many([tree.words for tree in trees], 10))
    whole, gold = measure_samples(samples, seed=3), measure_trees(trees, seed=3)
    monkeypatch.setattr("treecrf.corpus.measures.text._BATCH", 2)
    assert measure_samples(samples, seed=3) == whole != measure_samples(samples, seed=4)
    assert measure_trees(trees, seed=3) == gold and measure_trees(trees) == measure_trees(trees, seed=0) != gold
    assert measure_samples(samples) == measure_samples(samples, seed=0)
