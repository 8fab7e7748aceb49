from dataclasses import replace

import numpy as np
import pytest

from network.nn.batches import TREES, host_batch_of
from treecrf.network.data.batch import BOS, EOS, PAD, SPECIAL, UNK, Scores


def test_special_ids_come_first():
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3) and len(SPECIAL) == 4


def test_a_batch_counts_the_labels_of_its_loss():
    trees = TREES[:4]
    batch = host_batch_of(trees)
    assert batch.longest == max(len(tree.words) for tree in trees) == batch.words.shape[1] - 2
    assert batch.total_labels == sum(2 * len(tree.words) - 1 for tree in trees) == len(batch.labels)


def scores_of(spans, labels):
    return Scores(
        is_crf=True, lengths=np.array([2, 1]), spans=spans.astype(np.float32), score_labels=lambda cells: labels
    )


def test_numbers_outside_the_sentences_need_not_be_finite():
    spans = np.zeros((2, 3, 3))
    spans[0, 1, 1] = spans[0, 2, 0] = spans[1, 0, 2] = np.nan
    labels = np.zeros((1, 4), np.float32)
    assert scores_of(spans, labels).check_finite().labels_at(np.array([1])) is labels


@pytest.mark.parametrize("cell", [(0, 0, 2), (0, 1, 2), (1, 0, 1)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_score_of_a_span_must_be_finite(cell, value):
    spans = np.zeros((2, 3, 3))
    spans[cell] = value
    with pytest.raises(ValueError, match="scores that are not finite numbers"):
        scores_of(spans, np.zeros((1, 4))).check_finite()


def test_scores_of_labels_are_checked_when_they_are_computed():
    scores = scores_of(np.zeros((2, 3, 3)), np.array([[0.0, np.inf]])).check_finite()
    with pytest.raises(ValueError, match="scores that are not finite numbers"):
        scores.labels_at(np.array([1]))


def test_spans_and_words_are_inside_their_sentence():
    scores = replace(scores_of(np.zeros((2, 3, 3)), None), tags=np.arange(12).reshape(2, 2, 3))
    assert np.argwhere(scores.is_span).tolist() == [[0, 0, 1], [0, 0, 2], [0, 1, 2], [1, 0, 1]]
    assert scores.word_tags.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert scores_of(np.zeros((2, 3, 3)), None).word_tags is None
