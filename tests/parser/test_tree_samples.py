"""Samples of trees against the enumeration of all labeled binary trees."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from parser.decoding.random_scores import (
    LABELS,
    LOSSES,
    derivations,
    random_scores,
    select_sentence,
    tree_probabilities,
)
from small import random_parser
from toygrammar import toy_trees
from treecrf.network.data.batch import Scores
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints, apply_constraints
from treecrf.parser.decoding.log_space import log_softmax
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.parser.tree_samples import ExpectedCount, sample_batch, sample_rows
from treecrf.trees.search import Forest, Pattern
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, from_spans

TREES = toy_trees(40, seed=3)
SENTENCES = [tree.words for tree in TREES]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(TREES)


def test_samples_have_the_words_and_given_tags_of_the_sentence() -> None:
    tagger = random_parser(TREES, tag_head=True)
    words = SENTENCES[0]
    samples = tagger.sample(words, 20)
    assert len(samples) == 20 and all(tree.words == words for tree in samples)
    assert tagger.sample(words, 20) == samples
    given_tags = ["X", *[None] * (len(words) - 1)]
    assert {tree.tags[0] for tree in tagger.sample(words, 20, tags=given_tags)} == {"X"}
    (of_many,) = tagger.sample_many([words], 20)
    assert of_many.trees == samples and Tree.parse(of_many.best) == tagger.parse(words)


def test_expected_counts_weight_trees_by_their_probability(parser: Parser) -> None:
    words = SENTENCES[0][:3]
    count = parser.expected_count("NP", words, samples=2000)
    (window,) = parser.reader.windows([words], None, None, sizes=[1])
    distribution, labels = parser.tree_distribution(parser.batch_scorer(window)), LabelSet(parser.vocabulary.labels)
    probabilities = distribution.constituent_probabilities(distribution.cells(0, *np.triu_indices(4, 1)))
    exact = probabilities[:, [column for (name, _), column in labels._columns.items() if name == "NP"]].sum()
    assert count.mean == pytest.approx(exact, abs=0.1)
    assert count.mean_low <= count.mean <= count.mean_high and count.samples == 2000


def test_no_samples_are_refused(parser: Parser) -> None:
    with pytest.raises(ValueError, match="the number of samples is 0"):
        parser.sample(["a"], 0)


TAGS = ("NN", "VB")
FEW_LABELS = ("S", "NP", "(NP)")
SAMPLES = 4000


def sample(scores: Scores, count: int = SAMPLES, seed: int = 0, labels: tuple[str, ...] = LABELS) -> list[list[Tree]]:
    """The sampled trees of each sentence; a tag is `_` if the scores have none."""
    generators = [np.random.default_rng((seed, number)) for number in range(len(scores.lengths))]
    samples = []
    distribution = TreeDistribution(scores=scores, labels=LabelSet(labels), root="TOP")
    drawn = sample_batch(distribution, count, generators)
    for length, (trees, draws) in zip(scores.lengths.tolist(), drawn, strict=True):
        columns = zip(trees.starts.tolist(), trees.ends.tolist(), trees.labels.tolist(), strict=True)
        spans = [Span(start, end, labels[label]) for start, end, label in columns]
        tags = ["_"] * length * len(spans) if trees.tags is None else [TAGS[tag] for tag in trees.tags.tolist()]
        distinct = []
        for number in range(len(spans) // (2 * length - 1)):
            sentence_tags = tags[number * length : (number + 1) * length]
            leaves = [Tree(tag, (f"w{word}",)) for word, tag in enumerate(sentence_tags)]
            distinct.append(from_spans(spans[number * (2 * length - 1) : (number + 1) * (2 * length - 1)], leaves))
        samples.append([distinct[draw] for draw in draws.tolist()])
    return samples


def tagged_probabilities(scores: Scores) -> dict[Tree, float]:
    """The probability of every tree with every sequence of tags."""
    assert scores.tags is not None
    log_probs = log_softmax(scores.tags[0])
    untagged = tree_probabilities(derivations(scores, FEW_LABELS))
    probabilities = {}
    for tags in product(range(len(TAGS)), repeat=int(scores.lengths[0])):
        tag_log_prob = sum(float(log_probs[word, tag]) for word, tag in enumerate(tags))
        for tree, log_prob in untagged.items():
            tagged = str(tree)
            for tag in tags:
                tagged = tagged.replace("(_ ", f"({TAGS[tag]} ", 1)
            probabilities[Tree.parse(tagged)] = math.exp(log_prob + tag_log_prob)
    return probabilities


def check_frequencies(trees: list[Tree], probabilities: dict[Tree, float]) -> None:
    """Compares frequencies with probabilities; the tolerance is 5 standard deviations."""
    frequencies = Counter(trees)
    assert frequencies.keys() <= probabilities.keys()
    for tree, probability in probabilities.items():
        tolerance = 5 * math.sqrt(len(trees) * probability) + 2
        assert abs(frequencies[tree] - len(trees) * probability) < tolerance


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("length", "labels"), [(1, LABELS), (2, LABELS), (3, FEW_LABELS)])
def test_trees_occur_with_their_exact_probability(loss, length, labels):
    scores = random_scores([length], labels=len(labels), loss=loss, scale=2.0)
    exact = {tree: math.exp(value) for tree, value in tree_probabilities(derivations(scores, labels)).items()}
    check_frequencies(sample(scores, labels=labels)[0], exact)


def test_samples_satisfy_constraints():
    labels = LabelSet(LABELS)
    constraints = [Constraints(require=[(0, 2, "NP")], forbid=[(1, 2)])]
    scores = apply_constraints(
        random_scores([3], labels=len(LABELS)), constraints, labels, "TOP", numbers=range(len(constraints))
    )
    for tree in set(sample(scores, 200)[0]):
        assert Span(0, 2, "NP") in tree.spans()
        assert not any(span[:2] == (1, 2) for span in tree.spans())


def test_a_sentence_has_the_same_samples_in_every_batch():
    scores = random_scores([3, 7, 1], labels=len(LABELS), tags=len(TAGS))
    first, second, _ = sample(scores, 20)
    assert sample(select_sentence(scores, 0), 20) == [first]
    assert len(set(second)) > 10


@pytest.fixture(scope="module")
def tagged_scores() -> Scores:
    return random_scores([3], labels=len(FEW_LABELS), tags=len(TAGS), scale=2.0)


@pytest.fixture(scope="module")
def exact(tagged_scores: Scores) -> dict[Tree, float]:
    return tagged_probabilities(tagged_scores)


def test_tags_are_drawn_by_their_probability(tagged_scores, exact):
    check_frequencies(sample(tagged_scores, labels=FEW_LABELS)[0], exact)


def test_intervals_of_the_mean_contain_the_exact_expectation(tagged_scores, exact):
    (trees,) = sample(tagged_scores, 40_000, labels=FEW_LABELS)
    forest = Forest(trees)
    for text in ("NP", "S < NP", "NP < NN", "NP <, VB", "TOP <# NP"):
        pattern = Pattern(text)
        expectation = float(np.dot(pattern.count_by_tree(exact), list(exact.values())))
        counts = [ExpectedCount.of(part) for part in np.split(pattern.count_by_tree(forest), 100)]
        assert 88 <= sum(count.mean_low <= expectation <= count.mean_high for count in counts) <= 99
        assert np.mean([count.mean for count in counts]) == pytest.approx(expectation, abs=0.02)


def test_95_percent_of_the_intervals_contain_the_exact_expectation():
    generator = np.random.default_rng(0)
    for probability in (0.01, 0.3):
        counts = [ExpectedCount.of(generator.binomial(2, probability, size=300)) for _ in range(400)]
        hits = [count.mean_low <= 2 * probability <= count.mean_high for count in counts]
        assert 0.92 < np.mean(hits) < 0.98


def test_samples_that_agree_have_a_narrow_interval_that_is_not_empty():
    count = ExpectedCount.of(np.ones(1000, int))
    assert (count.mean, count.low, count.high, count.probabilities) == (1.0, 1, 1, {1: 1.0})
    assert 0.99 < count.mean_low < 1.0 < count.mean_high < 1.01


def test_a_column_without_weight_is_never_chosen():
    weights = np.array([[0.0, 1.0, 0.0], [1e-300, 0.0, 0.0]])
    columns = sample_rows(weights, np.tile([0, 1], 5000), np.random.default_rng(0))
    assert set(columns[::2].tolist()) == {1} and set(columns[1::2].tolist()) == {0}


def test_the_interval_of_the_mean_shrinks_with_the_number_of_samples():
    few, many = ExpectedCount.of(np.array([0, 1] * 10)), ExpectedCount.of(np.array([0, 1] * 1000))
    assert few.mean == many.mean == 0.5
    assert few.mean_high - few.mean_low > 5 * (many.mean_high - many.mean_low)


def test_the_interval_has_the_width_of_its_formula():
    count = ExpectedCount.of(np.array([2, 4]))
    error = 1.959964 * ((2 + 2) / 4 / 2) ** 0.5
    assert (count.mean_low, count.mean_high) == pytest.approx((3 - error, 3 + error))


def test_samples_that_agree_have_an_interval_and_it_never_starts_below_zero():
    count = ExpectedCount.of(np.zeros(20, dtype=np.int64))
    assert count.mean_low == 0.0 < count.mean_high
    assert (count.low, count.high, count.samples, count.probabilities) == (0, 0, 20, {0: 1.0})


def test_low_and_high_contain_the_middle_of_the_samples():
    count = ExpectedCount.of(np.array([0] * 1 + [1] * 98 + [9] * 1))
    assert (count.low, count.high) == (1, 1)
    assert count.probabilities == pytest.approx({0: 0.01, 1: 0.98, 9: 0.01})
