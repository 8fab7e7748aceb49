import pytest

from treecrf.trees.evalb.match import BracketCounts, Status
from treecrf.trees.evalb.summary import Accuracy, SentenceScore, summarize


def sentence(*counts, status=Status.VALID):
    return SentenceScore(1, 5, status, BracketCounts(*counts))


def test_recall_precision_and_f1_are_percentages():
    accuracy = Accuracy(gold=8, predicted=5, recalled=4, correct=4)
    assert (accuracy.recall, accuracy.precision) == (50, 80)
    assert accuracy.f1 == pytest.approx(2 * 50 * 80 / 130)
    assert (Accuracy(0, 0, 0, 0).recall, Accuracy(0, 0, 0, 0).f1) == (0, 0)


def test_only_valid_sentences_are_counted():
    rows = [
        sentence(4, 4, 4, 4, 0, 10, 10),
        sentence(4, 4, 2, 4, 2, 10, 5),
        sentence(4, 3, 1, 2, 3, 20, 5),
        sentence(9, 9, 9, 9, 9, 9, 9, status=Status.ERROR),
        sentence(status=Status.SKIP),
    ]
    summary = summarize(rows)
    assert (summary.sentences, summary.errors, summary.skipped, summary.valid) == (5, 1, 1, 3)
    assert summary.brackets == Accuracy(12, 11, 7, 7) and summary.unlabeled == Accuracy(12, 11, 10, 10)
    assert (summary.complete, summary.unlabeled_complete, summary.uncrossed, summary.hardly_crossed) == (1, 2, 1, 2)
    assert summary.complete_match == summary.no_crossing == pytest.approx(100 / 3)
    assert summary.unlabeled_complete_match == summary.two_or_less_crossing == pytest.approx(200 / 3)
    assert summary.average_crossing == pytest.approx(5 / 3) and summary.tagging_accuracy == 50


def test_no_valid_sentence_gives_zeros():
    summary = summarize([sentence(status=Status.SKIP)])
    assert (summary.complete_match, summary.average_crossing, summary.tagging_accuracy) == (0, 0, 0)
