import math

import pytest
import torch

from treecrf.chart import naive


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_there_are_as_many_trees_as_the_catalan_number(length):
    trees = naive.trees(length, length + 2)
    assert len(trees) == math.comb(2 * length - 2, length - 1) // length == len(torch.unique(trees, dim=0))
    assert (trees.sum((1, 2)) == 2 * length - 1).all()
    assert trees[:, 0, length].all() and all(trees[:, i, i + 1].all() for i in range(length))


def test_the_spans_of_part_of_a_sentence_start_at_its_first_word():
    assert sorted(map(sorted, naive.brackets(2, 5))) == [
        [(2, 3), (2, 4), (2, 5), (3, 4), (4, 5)],
        [(2, 3), (2, 5), (3, 4), (3, 5), (4, 5)],
    ]


def test_trees_are_ordered_by_their_scores_and_forbidden_ones_are_missing():
    scores = torch.zeros(4, 4)
    scores[1, 3] = 2.0
    trees, totals = naive.tree_scores(scores, 3)
    assert totals.tolist() == [2.0, 0.0] and trees[0, 1, 3] and trees[1, 0, 2]
    scores[0, 2] = -torch.inf
    assert naive.tree_scores(scores, 3)[1].tolist() == [2.0]


def test_quantities_of_two_trees_follow_from_their_odds():
    scores = torch.zeros(1, 4, 4, dtype=torch.float64)
    scores[0, 0, 2] = math.log(3)
    lengths = torch.tensor([3])
    assert naive.log_partition(scores, lengths).item() == pytest.approx(math.log(4))
    assert naive.marginals(scores, lengths)[0, 0, 2].item() == pytest.approx(0.75)
    assert naive.entropy(scores, lengths).item() == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))


@pytest.mark.parametrize(("length", "count"), [(1, 3), (2, 27), (3, 405), (4, 7533)])
def test_there_is_every_labeled_tree_once(length, count):
    trees = naive.labeled_trees(length, length + 1, [0, 1])
    assert len(trees) == count == len(trees.flatten(1).unique(dim=0))
    whole = trees[(trees[:, 0, length] >= 0)]
    assert len(whole) * 3 == 2 * count  # a label over the whole sentence is one of two, or missing
    assert {tuple(span) for span in (trees >= 0).nonzero()[:, 1:].tolist()} == {
        (start, end) for end in range(length + 1) for start in range(end)
    }
