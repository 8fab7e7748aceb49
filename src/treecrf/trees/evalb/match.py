"""Comparison of a gold tree and a predicted tree, step by step as EVALB does it."""

from collections.abc import Set
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from treecrf.trees.evalb.brackets import UNCLOSED, Brackets
from treecrf.trees.evalb.rules import Rules
from treecrf.trees.tree import Span

_QUOTES = frozenset({"'", '"', "/"})


class Status(IntEnum):
    """The status of a sentence; a summary includes only `VALID` sentences."""

    VALID = 0
    ERROR = 1
    SKIP = 2


class BracketCounts(NamedTuple):
    """EVALB's counts for a sentence."""

    gold: int = 0  # brackets of the gold tree that are not deleted
    predicted: int = 0
    matched: int = 0
    unlabeled: int = 0  # matches without regard to labels
    crossing: int = 0  # predicted brackets that cross a gold bracket
    words: int = 0
    tags: int = 0  # correct tags


_NOTHING = BracketCounts()


@dataclass(frozen=True, slots=True)
class PairResult:
    """The result for a pair of trees: its counts, and the labels of the counted brackets."""

    status: Status
    counts: BracketCounts = _NOTHING
    faults: tuple[str, ...] = ()
    gold: list[str] = field(default_factory=list)
    predicted: list[str] = field(default_factory=list)
    recalled: list[str] = field(default_factory=list)  # matched brackets, with the labels of the gold tree
    correct: list[str] = field(default_factory=list)  # matched brackets, with the labels of the predicted tree


@dataclass(slots=True)
class _Quote:
    """A quotation mark, deleted or not."""

    tag: str
    word: str
    index: int  # the word's number in its tree
    position: int  # its number among the words that are not deleted


class Matcher:
    """Compares trees by rules."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._equal_labels = _both_ways(rules.equal_labels)
        self._partners = {
            label: {b for a, b in self._equal_labels if a == label} | {label} for label, _ in self._equal_labels
        }
        self._equal_words = _both_ways(rules.equal_words)
        # a label equal to a deleted label deletes brackets, but not words
        self._deleted = rules.delete_labels | {a for a, b in self._equal_labels if b in rules.delete_labels}
        self._trimmed: dict[str, str | None] = {}  # None: deleted

    def length(self, tree: Brackets) -> int:
        """The length of a sentence."""
        uncounted = self._rules.delete_labels_for_length
        if uncounted.isdisjoint(tree.tags):
            return len(tree.tags)
        return sum(tag not in uncounted for tag in tree.tags)

    def compare(self, gold_tree: Brackets, predicted_tree: Brackets) -> PairResult:
        """The result for a gold and a predicted tree."""
        faults = (*gold_tree.faults, *predicted_tree.faults)
        if not gold_tree.readable or not predicted_tree.readable:
            return PairResult(Status.ERROR, faults=faults)
        gold, predicted = self._filter(gold_tree), self._filter(predicted_tree)
        if not predicted.words:
            return PairResult(Status.SKIP, faults=faults)
        if len(gold.words) != len(predicted.words):
            self._reinsert_quotes(gold_tree, gold, predicted_tree, predicted)
        difference = self._difference(gold.words, predicted.words)
        if difference:
            return PairResult(Status.ERROR, faults=(*faults, difference))
        tags = _count_equal(gold.tags, predicted.tags, self._equal_labels)
        spans, predicted_spans, words = self._spans(gold), self._spans(predicted), len(gold.words)
        recalled, correct, unlabeled = self._match(spans, predicted_spans)
        crossing = _count_crossing(spans, predicted_spans, words)
        counts = BracketCounts(len(spans), len(predicted_spans), len(recalled), unlabeled, crossing, words, tags)
        status = Status.ERROR if faults else Status.VALID
        return PairResult(status, counts, faults, _labels(spans), _labels(predicted_spans), recalled, correct)

    def brackets(self, tree: Brackets) -> list[Span]:
        """The brackets of a tree that are not deleted, over the words that are not deleted."""
        return self._spans(self._filter(tree))

    def _filter(self, tree: Brackets) -> Brackets:
        """A copy of a tree without the words whose tags are deleted."""
        deleted = self._rules.delete_labels
        if deleted.isdisjoint(tree.tags):
            return replace(tree)
        positions = [*accumulate((tag not in deleted for tag in tree.tags), initial=0), UNCLOSED]
        return replace(
            tree,
            tags=[tag for tag in tree.tags if tag not in deleted],
            words=[word for tag, word in zip(tree.tags, tree.words, strict=True) if tag not in deleted],
            starts=[positions[start] for start in tree.starts],
            ends=[positions[end] for end in tree.ends],  # UNCLOSED is -1, the index of the last position
        )

    def _reinsert_quotes(
        self, gold_tree: Brackets, gold: Brackets, predicted_tree: Brackets, predicted: Brackets
    ) -> None:
        """Reinserts a deleted quotation mark if the other tree has it under a tag that is not deleted."""
        deleted = self._rules.delete_labels
        gold_quotes, predicted_quotes = self._quotes(gold_tree), self._quotes(predicted_tree)
        for j, predicted_quote in enumerate(predicted_quotes):
            position = predicted_quote.position  # fixed, while reinserted marks shift the positions in both lists
            for i, gold_quote in enumerate(gold_quotes):
                if gold_quote.position != position or gold_quote.tag == predicted_quote.tag:
                    continue
                if gold_quote.tag in deleted and predicted_quote.tag not in deleted:
                    _reinsert(gold, gold_tree, gold_quotes[i:])
                elif predicted_quote.tag in deleted and gold_quote.tag not in deleted:
                    _reinsert(predicted, predicted_tree, predicted_quotes[j:])

    def _quotes(self, tree: Brackets) -> list[_Quote]:
        quotes = []
        position = 0
        for index, (tag, word) in enumerate(zip(tree.tags, tree.words, strict=True)):
            if word in _QUOTES and tag in self._rules.quote_labels:
                quotes.append(_Quote(tag, word, index, position))
            position += tag not in self._rules.delete_labels
        return quotes

    def _difference(self, gold: list[str], predicted: list[str]) -> str:
        if len(gold) != len(predicted):
            return f"Length unmatch ({len(gold)}|{len(predicted)})"
        if gold != predicted:
            for a, b in zip(gold, predicted, strict=True):
                if a != b and (a, b) not in self._equal_words:
                    return f"Words unmatch ({a}|{b})"
        return ""

    def _spans(self, tree: Brackets) -> list[Span]:
        """The brackets that are not deleted; their labels have no function tags and indices."""
        trimmed = self._trimmed
        spans = []
        for label, start, end in zip(tree.labels, tree.starts, tree.ends, strict=True):
            if start == end:
                continue
            if label not in trimmed:
                trimmed[label] = self._trim(label)
            name = trimmed[label]
            if name is not None:
                spans.append(Span(start, end, name))
        return spans

    def _trim(self, label: str) -> str | None:
        label = label.partition("-")[0].partition("=")[0]
        return None if label in self._deleted else label

    def _match(self, gold: list[Span], predicted: list[Span]) -> tuple[list[str], list[str], int]:
        """The labels of matched brackets in the gold and in the predicted tree, and the number of unlabeled matches."""
        if gold == predicted:
            return _labels(gold), _labels(gold), len(gold)
        unmatched: dict[tuple[int, int], list[str]] = {}
        for start, end, label in predicted:
            unmatched.setdefault((start, end), []).append(label)
        recalled: list[str] = []
        correct: list[str] = []
        missed: list[list[str]] = []  # for each gold bracket without a match, the unmatched labels of its span
        for start, end, label in gold:
            labels = unmatched.get((start, end), [])
            index = self._find(label, labels)
            if index is None:
                missed.append(labels)
            else:
                recalled.append(label)
                correct.append(labels.pop(index))
        unlabeled = len(recalled)
        for labels in missed:
            if labels:
                labels.pop()
                unlabeled += 1
        return recalled, correct, unlabeled

    def _find(self, label: str, labels: list[str]) -> int | None:
        """The index of the first of `labels` that equals `label`."""
        if not self._rules.labeled:
            return 0 if labels else None
        if label in self._partners:
            return next((index for index, other in enumerate(labels) if other in self._partners[label]), None)
        return labels.index(label) if label in labels else None


def _both_ways(pairs: Set[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(a, b) for pair in pairs for a, b in (pair, pair[::-1])}


def _reinsert(tree: Brackets, full_tree: Brackets, quotes: list[_Quote]) -> None:
    """Reinserts the first of these quotation marks of `full_tree` into `tree`, and shifts the positions of all."""
    quote = quotes[0]
    before, after = slice(quote.position), slice(quote.position, None)
    tree.tags = [*tree.tags[before], quote.tag, *tree.tags[after]]
    tree.words = [*tree.words[before], quote.word, *tree.words[after]]
    starts, ends = full_tree.starts, full_tree.ends
    tree.starts = [new + (old > quote.index) for new, old in zip(tree.starts, starts, strict=True)]
    tree.ends = [new + (old > quote.index or old == UNCLOSED) for new, old in zip(tree.ends, ends, strict=True)]
    for shifted in quotes:
        shifted.position += 1


def _count_equal(gold: list[str], predicted: list[str], equal: set[tuple[str, str]]) -> int:
    if gold == predicted:
        return len(gold)
    return sum(a == b or (a, b) in equal for a, b in zip(gold, predicted, strict=True))


def _labels(spans: list[Span]) -> list[str]:
    return [span.label for span in spans]


def _count_crossing(gold: list[Span], predicted: list[Span], words: int) -> int:
    """The number of predicted brackets that cross a gold bracket."""
    brackets = {(start, end) for start, end, _ in gold if end > start + 1}
    # the first end and the last start of the gold brackets around each position:
    # later assignments replace earlier ones
    first_end = [words] * (words + 1)
    for start, end in sorted(brackets, key=itemgetter(1), reverse=True):
        first_end[start + 1 : end] = [end] * (end - start - 1)
    last_start = [0] * (words + 1)
    for start, end in sorted(brackets):
        last_start[start + 1 : end] = [start] * (end - start - 1)
    return sum(first_end[start] < end or last_start[end] > start for start, end, _ in predicted if end > start)
