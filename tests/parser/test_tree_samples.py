import math

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.trees.search import Pattern
from treecrf.trees.tree import Tree

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
    alternatives = parser.analyze(words, k=200).alternatives
    count = parser.expected_count("NP", words, samples=2000)
    pattern = Pattern("NP")
    exact = sum(pattern.count(best.tree).matches * math.exp(best.log_prob) for best in alternatives)
    assert sum(math.exp(best.log_prob) for best in alternatives) > 0.99
    assert count.mean == pytest.approx(exact, abs=0.1)
    assert count.mean_low <= count.mean <= count.mean_high and count.samples == 2000


def test_no_samples_are_refused(parser: Parser) -> None:
    with pytest.raises(ValueError, match="the number of samples is 0"):
        parser.sample(["a"], 0)
