import re

import numpy as np
import pytest

from small import FIFTY, random_parser
from treecrf.corpus.measures import MEASURES, Interval, measure_samples, measure_text, measure_trees, measure_words
from treecrf.corpus.measures.intervals import parser_errors
from treecrf.corpus.measures.structures import PATTERNS
from treecrf.corpus.measures.totals import STRUCTURES, compute_measures, count_trees
from treecrf.trees.search import Forest, Pattern
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREES = list(read_trees(FIFTY))
# the tree of NeoSCA's tests, and the frequencies that they expect
WALK = """
(ROOT (S (NP (EX There)) (VP (VBD was) (NP (NP (DT no) (NN possibility)) (PP (IN of) (S (VP (VBG taking)
(NP (DT a) (NN walk)) (NP (DT that) (NN day)))))))  (. .)))
"""
WALK_COUNTS = {"W": 10, "S": 1, "VP": 2, "C": 1, "T": 1, "DC": 0, "CT": 0, "CP": 0, "CN": 1}


@pytest.fixture(scope="module")
def parser():
    return random_parser(TREES, tag_head=True)


def values(trees, names=tuple(MEASURES)):
    measures = measure_trees(trees)
    return {name: measures[name].value for name in names}


def test_the_example_of_neosca_has_its_frequencies():
    assert values([Tree.parse(WALK)], WALK_COUNTS) == WALK_COUNTS
    indices = values([Tree.parse(WALK)], ("MLS", "MLC", "VP/T", "CN/C", "DC/T"))
    assert indices == {"MLS": 10, "MLC": 10, "VP/T": 2, "CN/C": 1, "DC/T": 0}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        # a fragment is a clause and a T-unit
        ("(TOP (FRAG (RB Not) (NP (DT this)) (. .)))", {"W": 2, "C": 1, "T": 1, "VP": 0}),
        # a question whose verb has no verb phrase
        ("(TOP (SQ (VBZ Is) (NP (PRP he)) (ADJP (JJ tall)) (. ?)))", {"VP": 1, "C": 1, "T": 1}),
        # an imperative, and a phrase with two conjunctions, which counts once
        ("(TOP (S (VP (VB Eat) (NP (NN a) (CC or) (NN b) (CC or) (NN c)))))", {"C": 1, "CP": 1}),
        # two coordinated main clauses, of which one has a dependent clause
        (
            "(TOP (S (S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP he)) (VP (VBZ naps))))))"
            " (CC but) (S (NP (PRP we)) (VP (VBP run)))))",
            {"C": 3, "T": 2, "DC": 1, "CT": 1, "CN": 1},
        ),
        # words with a hyphen are words, and hyphens are not
        ("(TOP (NP (JJ well-known) (NN x) (HYPH -) (NN y)))", {"W": 3}),
    ],
)
def test_structures(text, counts):
    assert values([Tree.parse(text)], counts) == counts


def test_function_tags_empty_elements_and_roots_do_not_matter():
    text = "( (S (NP-SBJ-1 (PRP We)) (VP (VBD tried) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB go)))))))"
    bare = "(S (NP (PRP We)) (VP (VBD tried) (S (VP (TO to) (VP (VB go))))))"
    assert values([Tree.parse(text)]) == values([Tree.parse(bare)]) == values([Tree.parse(f"(ROOT {bare})")])


def test_counts_equal_those_of_single_patterns():
    forest = Forest(TREES)
    counts = count_trees(forest)
    for name, patterns in PATTERNS.items():
        nodes = [{match.position for match in Pattern(pattern).find(forest)} for pattern in patterns]
        assert counts[:, STRUCTURES.index(name)].sum() == sum(map(len, nodes))


def test_words_are_those_of_l2sca():
    counts = count_trees(Forest(TREES))
    text = " ".join(map(str, TREES))
    assert counts[:, 0].sum() == len(re.findall(r"\([A-Z]+\$? [^()]+\)", text))


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
    population = values(TREES)
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
    measures = measure_samples(samples)
    totals = sum(count_trees(sample.forest)[sample.draws] for sample in samples)
    deviations = compute_measures(totals).std(axis=0)
    best = compute_measures(count_trees(Forest(list(parser.parse_many(sentences)))).sum(axis=0))
    errors = parser_errors(deviations, 4)
    halves = 1.959964 * errors.deviations
    for measure, value, center, half in zip(measures.values(), best, best + errors.means, halves, strict=True):
        assert measure.value == pytest.approx(value)
        assert measure.interval == pytest.approx((max(0, center - half), center + half))
        assert measure.population is not None and measure.population.high >= measure.interval.high


@pytest.mark.parametrize("sentences", [1, 10, 1000, 10**6])
def test_the_interval_contains_the_value_of_the_parsed_trees(sentences):
    errors = parser_errors(np.ones(len(MEASURES)), sentences)
    assert np.all(np.abs(errors.means) <= 1.959964 * errors.deviations)


def test_a_text_without_sentences_has_only_zeros(parser):
    measures = measure_text(parser, " \n\n ")
    assert {measure.value for measure in measures.values()} == {0.0}


def test_an_endless_sentence_is_an_error(parser):
    with pytest.raises(ValueError, match="sentence 2 has 2,001 words, from character 5 on; expected at most 2,000"):
        measure_text(parser, "No.\n\n" + "a " * 2001)


def test_other_languages_have_no_l2sca(parser):
    (samples,) = parser.sample_many([["a", "b"]], 2)
    assert [*measure_samples([samples], language="zh")][:4] == ["W", "S", "MLS", "nodes"]


def test_intervals_of_words_contain_their_values(parser):
    sentences = [tree.words for tree in TREES[:8]]
    is_uncertain = False
    for words, samples in zip(sentences, parser.sample_many(sentences, 40), strict=True):
        rows = measure_words(samples)
        tags = Tree.parse(samples.best).tags
        assert [row.word for row in rows] == [word for word, tag in zip(words, tags, strict=True) if tag[0].isalpha()]
        intervals = [(row.values[name], *interval) for row in rows for name, interval in row.intervals.items()]
        assert all(low <= value <= high for value, low, high in intervals)
        is_uncertain |= any(low < high for _, low, high in intervals)
    assert is_uncertain


def test_words_of_given_trees_have_no_intervals():
    (row,) = measure_words(Tree.parse("(NP (NN x) (. .))"))
    assert (row.number, row.word, row.tag, row.intervals) == (1, "x", "NN", {})
    assert measure_words(Tree.parse("(S (-NONE- *))")) == []
