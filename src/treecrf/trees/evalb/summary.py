"""Summed counts of sentences, and their percentages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from treecrf.trees.evalb.match import BracketCounts, Status


class SentenceScore(NamedTuple):
    """A sentence: its number, from 1, its length, its status and its counts."""

    number: int
    length: int
    status: Status
    counts: BracketCounts


class _Percentage:
    """An attribute of counts: one count in percent of another one; 0 if the other one is 0."""

    def __init__(self, part: str, whole: str) -> None:
        self._part = part
        self._whole = whole

    def __get__(self, counts: Any, _kind: type) -> float:
        part, whole = getattr(counts, self._part), getattr(counts, self._whole)
        return 100.0 * part / whole if whole else 0.0  # the last printed digit depends on this order of operations


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Recall, precision and F1 in percent; 0 if the denominator is 0."""

    gold: int
    predicted: int
    recalled: int  # gold brackets that match
    correct: int  # predicted brackets that match; their labels may differ from the gold ones, under equal labels

    recall = _Percentage("recalled", "gold")
    precision = _Percentage("correct", "predicted")

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The scores of a group of sentences; only valid sentences are counted."""

    sentences: int
    errors: int
    skipped: int
    brackets: Accuracy
    unlabeled: Accuracy
    complete: int  # sentences whose brackets all match
    unlabeled_complete: int  # sentences whose brackets all match without regard to labels
    crossing: int
    uncrossed: int
    hardly_crossed: int  # two crossing brackets at most
    words: int
    tags: int  # correct tags

    complete_match = _Percentage("complete", "valid")
    unlabeled_complete_match = _Percentage("unlabeled_complete", "valid")
    no_crossing = _Percentage("uncrossed", "valid")
    two_or_less_crossing = _Percentage("hardly_crossed", "valid")
    tagging_accuracy = _Percentage("tags", "words")

    @property
    def valid(self) -> int:
        """The number of valid sentences."""
        return self.sentences - self.errors - self.skipped

    @property
    def average_crossing(self) -> float:
        """Crossing brackets per sentence."""
        return self.crossing / self.valid if self.valid else 0.0


def summarize(sentences: Sequence[SentenceScore]) -> Summary:
    """Sums the counts of sentences."""
    statuses = [sentence.status for sentence in sentences]
    valid = [sentence.counts for sentence in sentences if sentence.status == Status.VALID]
    total = BracketCounts(*map(sum, zip(*valid, strict=True))) if valid else BracketCounts()
    return Summary(
        sentences=len(sentences),
        errors=statuses.count(Status.ERROR),
        skipped=statuses.count(Status.SKIP),
        brackets=Accuracy(total.gold, total.predicted, total.matched, total.matched),
        unlabeled=Accuracy(total.gold, total.predicted, total.unlabeled, total.unlabeled),
        complete=sum(counts.gold == counts.predicted == counts.matched for counts in valid),
        unlabeled_complete=sum(counts.gold == counts.predicted == counts.unlabeled for counts in valid),
        crossing=total.crossing,
        uncrossed=sum(counts.crossing == 0 for counts in valid),
        hardly_crossed=sum(counts.crossing <= 2 for counts in valid),
        words=total.words,
        tags=total.tags,
    )
