"""Counts of many sentences, and the percentages that they make."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treecrf.evalb.match import Counts, Status


class Sentence(NamedTuple):
    """A sentence's number, from 1, its length, and what was counted in it."""

    number: int
    length: int
    status: Status
    counts: Counts


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Recall, precision and F in percent; 0 where there is nothing to divide by."""

    gold: int
    predicted: int
    recalled: int  # gold brackets that were found
    correct: int  # predicted brackets that are right; under equal labels, other ones than were found

    @property
    def recall(self) -> float:
        """Of the gold brackets, those that were found."""
        return _percent(self.recalled, self.gold)

    @property
    def precision(self) -> float:
        """Of the predicted brackets, those that are right."""
        return _percent(self.correct, self.predicted)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The scores of a group of sentences, of which only the valid ones count."""

    sentences: int
    errors: int
    skipped: int
    brackets: Accuracy
    unlabelled: Accuracy
    complete: int
    unlabelled_complete: int
    crossing: int
    uncrossed: int
    hardly_crossed: int  # twice or less
    words: int
    tags: int

    @property
    def valid(self) -> int:
        """How many sentences count."""
        return self.sentences - self.errors - self.skipped

    @property
    def complete_match(self) -> float:
        """Percentage of sentences with all brackets right and none wrong."""
        return _percent(self.complete, self.valid)

    @property
    def unlabelled_complete_match(self) -> float:
        """The same, whatever the labels."""
        return _percent(self.unlabelled_complete, self.valid)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets per sentence."""
        return self.crossing / self.valid if self.valid else 0.0

    @property
    def no_crossing(self) -> float:
        """Percentage of sentences without crossing brackets."""
        return _percent(self.uncrossed, self.valid)

    @property
    def two_or_less_crossing(self) -> float:
        """Percentage of sentences with two crossing brackets at most."""
        return _percent(self.hardly_crossed, self.valid)

    @property
    def tagging_accuracy(self) -> float:
        """Percentage of words with the right tag."""
        return _percent(self.tags, self.words)


def summarize(sentences: Sequence[Sentence]) -> Summary:
    """The summary of some sentences."""
    statuses = [sentence.status for sentence in sentences]
    valid = [sentence.counts for sentence in sentences if sentence.status == Status.VALID]
    total = Counts(*map(sum, zip(*valid, strict=True))) if valid else Counts()
    return Summary(
        sentences=len(sentences),
        errors=statuses.count(Status.ERROR),
        skipped=statuses.count(Status.SKIP),
        brackets=Accuracy(total.gold, total.predicted, total.matched, total.matched),
        unlabelled=Accuracy(total.gold, total.predicted, total.unlabelled, total.unlabelled),
        complete=sum(counts.gold == counts.predicted == counts.matched for counts in valid),
        unlabelled_complete=sum(counts.gold == counts.predicted == counts.unlabelled for counts in valid),
        crossing=total.crossing,
        uncrossed=sum(counts.crossing == 0 for counts in valid),
        hardly_crossed=sum(counts.crossing <= 2 for counts in valid),
        words=total.words,
        tags=total.tags,
    )


def _percent(part: int, whole: int) -> float:
    # in this order of operations: the last digit printed depends on it
    return 100.0 * part / whole if whole else 0.0
