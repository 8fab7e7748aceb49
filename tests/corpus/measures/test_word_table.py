import pytest

from small import FIFTY, random_parser
from treecrf.corpus.measures import measure_words
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREES = list(read_trees(FIFTY))


@pytest.fixture(scope="module")
def parser():
    return random_parser(TREES, tag_head=True)


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
