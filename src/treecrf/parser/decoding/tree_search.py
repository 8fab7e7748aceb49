"""The best readings of a sentence: its most probable trees without those that differ in trifles alone.

Trifles are constituents over one word, unary chains of which one contains the other (`S VP` and `VP`), the place of
punctuation, and whether a phrase has a bracket of its own label around its head: `(NP (NP x) (PP y) (PP z))` and
`(NP (NP (NP x) (PP y)) (PP z))` have the same attachments. The search enumerates the trees whose constituents over
single words are summed out, the most probable first. A tree that differs from a better one in trifles alone belongs to
the better one's reading, and any other tree is a new reading. The probability of a reading sums its enumerated trees.

The first reading is the most probable one. The others are ordered by probability and by the grammar, because the labels
of spans are independent of each other in the model, so that probable ones may make an ill-formed tree.

The enumeration is an A* search. A partial tree has some spans that are not expanded yet. Its bound adds the scores of
their best subtrees to its score, so the first complete tree is the best one. A span is expanded by one of its options:
a label or no constituent, and a split. When an option is taken, the span's next best option waits in the queue.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from itertools import accumulate, count
from operator import or_
from typing import NamedTuple

import numpy as np

from treecrf.parser.decoding.constraints import Position
from treecrf.parser.decoding.expected_f1 import possible_tags, rank_tags
from treecrf.parser.decoding.label_grammar import NO_LABEL, CandidateSpans, LabelGrammar
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.trees.treebank.binarize import LabelSet

_TREES_PER_READING = 12  # trees that are enumerated for each reading, at most
_LOG_RATIO = 12.0  # trees less probable than the best one by this factor are not enumerated
_GRAMMAR_ORDER = 0.25  # weight of the grammar's log-probabilities in the order of readings
_WORD_CHOICES = 4  # labels of a single word that a grammar chooses from
_MIN_TAG_ODDS = -9.0  # smallest log-odds of a tag
_REQUIRED = 1e6  # utility of the phrases of a reading
_PROJECTIONS = ("NP", "VP", "ADJP", "ADVP", "PP", "QP")  # labels of phrases whose inner brackets are trifles

Constituents = tuple[tuple[Position, int], ...]  # the positions and label ids of a tree's constituents, sorted
_Span = tuple[int, int, bool]  # start, end, and whether the span is a right child


class Reading(NamedTuple):
    """The most probable tree of a reading, the log-probability of the reading, and the tags for its tree."""

    tree: Constituents
    log_prob: float
    tags: tuple[int, ...] = ()  # without a grammar, none


class Readings(NamedTuple):
    """The best readings. If they are exact, all readings with a more probable tree have been found."""

    readings: list[Reading]
    is_exact: bool


class _Option(NamedTuple):
    value: float
    label: int  # or NO_LABEL
    split: int


class _Chosen(NamedTuple):
    """The constituents of a partial tree: the last one, and those before it."""

    constituent: tuple[Position, int]
    before: "_Chosen | None"


class _Pending(NamedTuple):
    """The spans of a partial tree that are not expanded: the next one, and the rest."""

    span: _Span
    rest: "_Pending | None" = None


class _Partial(NamedTuple):
    """A partial tree; the next option of its first pending span is the one of this rank."""

    negative_bound: float
    number: int
    chosen: _Chosen | None
    pending: _Pending | None
    rank: int = 0


class _Enumeration:
    """The trees of a sentence in descending order of probability, constituents over single words summed out."""

    def __init__(self, distribution: TreeDistribution, sentence: int) -> None:
        self.length = int(distribution.scores.lengths[sentence])
        size = self.length + 1
        self._label_count = len(distribution.labels.strings)
        self._free = distribution.free[sentence, :size, :size]
        self._values, self._labels = (chart[sentence, :size, :size] for chart in distribution.best_labels)
        labeled = self._values[..., 0]
        either = np.maximum(labeled, self._free)
        # scores of the best subtrees by start and width, and as right children by end and width
        self._left, self._right = np.full((2, size, size), -np.inf)
        words = distribution.either[sentence].diagonal(1)[: self.length]
        self._left[:-1, 1] = self._right[1:, 1] = words
        for width in range(2, size):
            splits = (self._left[: size - width, 1:width] + self._right[width:, width - 1 : 0 : -1]).max(1)
            self._left[: size - width, width] = splits + either.diagonal(width)
            self._right[width:, width] = splits + labeled.diagonal(width)

    def __iter__(self) -> Iterator[tuple[Constituents, float]]:
        """Yields the constituents of two or more words of each tree, and its log-potential."""
        options, numbers = cache(self._options), count()
        whole = _Pending((0, self.length, False)) if self.length > 1 else None
        queue = [_Partial(-float(self._left[0, self.length]), next(numbers), None, whole)]
        while queue and queue[0].negative_bound < np.inf:
            negative_bound, _, chosen, pending, rank = heapq.heappop(queue)
            while pending is not None:
                ranked, (start, end, _) = options(pending.span), pending.span
                if rank + 1 < len(ranked):
                    bound = negative_bound + ranked[rank].value - ranked[rank + 1].value
                    heapq.heappush(queue, _Partial(bound, next(numbers), chosen, pending, rank + 1))
                _, label, split = ranked[rank]
                if label != NO_LABEL:
                    chosen = _Chosen(((start, end), label), chosen)
                pending, rank = pending.rest, 0
                for child in ((split, end, True), (start, split, False)):
                    pending = _Pending(child, pending) if child[1] - child[0] > 1 else pending
            yield tuple(sorted(_constituents(chosen))), -negative_bound

    def is_exact(self, tree: Constituents) -> bool:
        """Whether no tree can be missing before this one: a span may have more labels than are ranked."""
        is_complete = self._values.shape[-1] == self._label_count
        return is_complete or all(label != self._labels[position][-1] for position, label in tree)

    def word_constituents(self) -> Constituents:
        """The most probable constituents over single words."""
        words = [(word, word + 1) for word in range(self.length)]
        return tuple((word, int(self._labels[word][0])) for word in words if self._values[word][0] > self._free[word])

    def _options(self, span: _Span) -> list[_Option]:
        """The options of a span of two or more words, the best first."""
        start, end, is_right = span
        width = end - start
        splits = self._left[start, 1:width] + self._right[end, width - 1 : 0 : -1]
        labels, values = self._labels[start, end].tolist(), self._values[start, end].tolist()
        if not is_right:
            labels, values = [*labels, NO_LABEL], [*values, float(self._free[start, end])]
        sums = np.add.outer(np.array(values), splits).ravel()
        order = np.argsort(-sums, kind="stable")
        order = order[sums[order] > -np.inf]
        rows, columns = np.divmod(order, len(splits))
        numbers = zip(sums[order].tolist(), rows.tolist(), columns.tolist(), strict=True)
        return [_Option(value, labels[row], start + 1 + column) for value, row, column in numbers]


def _constituents(chosen: _Chosen | None) -> Iterator[tuple[Position, int]]:
    while chosen is not None:
        yield chosen.constituent
        chosen = chosen.before


def find_readings(
    distribution: TreeDistribution,
    sentence: int,
    k: int,
    *,
    is_word: Sequence[bool] = (),
    grammar: LabelGrammar | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Readings:
    """The k best readings; `is_word` is false for punctuation.

    The search ends early after some trees, or when `should_stop` returns true. It then has at least one reading.
    """
    enumeration = _Enumeration(distribution, sentence)
    shapes = _Shapes.of(distribution.labels, is_word or [True] * enumeration.length)
    found: dict[tuple[Position, ...], list[_Found]] = defaultdict(list)  # by the places of phrases
    readings: list[_Found] = []
    is_exact = not distribution.all_derivations  # the enumeration is in the order of left-binarized derivations
    is_complete, best = True, -math.inf
    for number, (tree, score) in enumerate(enumeration):
        best = max(best, score)
        if score < best - _LOG_RATIO and len(readings) >= k:
            break
        if number == _TREES_PER_READING * k or (found and should_stop is not None and should_stop()):
            is_complete = False
            break
        is_exact &= len(readings) >= k or enumeration.is_exact(tree)
        places, labels = shapes.signature(tree)
        same = next((other for other in found[places] if all(map(_is_related, labels, other.labels))), None)
        if same is None:
            readings.append(_Found(tree, labels, [score]))
            found[places].append(readings[-1])
        else:
            same.scores.append(score)
    is_exact &= is_complete or len(readings) >= k
    log_z, words = float(distribution.log_z[sentence]), enumeration.word_constituents()
    log_probs = [min(0.0, float(np.logaddexp.reduce(reading.scores)) - log_z) for reading in readings]
    candidates = [
        Reading((*reading.tree, *words), log_prob) for reading, log_prob in zip(readings, log_probs, strict=True)
    ]
    candidates.sort(key=lambda reading: -reading.log_prob)
    if grammar is None or enumeration.length == 1:
        return Readings(candidates[:k], is_exact)
    fitted, support = fit_words(candidates, distribution, sentence, grammar)
    order = [reading.log_prob + _GRAMMAR_ORDER * value for reading, value in zip(fitted, support, strict=True)]
    others = sorted(range(1, len(fitted)), key=lambda number: -order[number])
    return Readings([fitted[number] for number in (0, *others[: k - 1])], is_exact)


class _Found(NamedTuple):
    """A reading: its most probable tree, the labels of its phrases as bits, and the log-potentials of its trees."""

    tree: Constituents
    labels: tuple[int, ...]
    scores: list[float]


class _Phrase(NamedTuple):
    """A phrase of two or more words that are not punctuation, with its labels as bits, and the phrases in it."""

    start: int
    end: int
    labels: int
    children: "list[_Phrase]"


class _Shapes(NamedTuple):
    """The phrases of a tree without trifles."""

    bits: list[int]  # the constituents of each label
    projections: int  # bits of the labels whose inner brackets are trifles
    verb_phrase: int  # the bit of VP, whose inner bracket is a trifle only at its start
    places: list[int]  # the number of words before each fencepost, without punctuation

    @staticmethod
    def of(labels: LabelSet, is_word: Sequence[bool]) -> "_Shapes":
        columns = labels.contains[:, :-1]
        bits = [sum(1 << column for column in np.flatnonzero(row).tolist()) for row in columns]
        by_name = dict(zip(labels.strings, bits, strict=True))
        projections = reduce(or_, (by_name.get(name, 0) for name in _PROJECTIONS))
        return _Shapes(bits, projections, by_name.get("VP", 0), [0, *accumulate(map(int, is_word))])

    def signature(self, tree: Constituents) -> tuple[tuple[Position, ...], tuple[int, ...]]:
        """The places of the phrases of a tree in order, and their labels as bits."""
        by_place: dict[Position, int] = {}
        for (start, end), label in tree:
            place = self.places[start], self.places[end]
            if place[1] - place[0] > 1:
                by_place[place] = by_place.get(place, 0) | self.bits[label]
        stack: list[_Phrase] = [_Phrase(0, self.places[-1], 0, [])]
        finished: list[tuple[Position, int]] = []
        for (start, end), labels in sorted(by_place.items(), key=lambda item: (item[0][0], -item[0][1])):
            while end > stack[-1].end:
                finished += self._finish(stack.pop())
            stack.append(_Phrase(start, end, labels, []))
            stack[-2].children.append(stack[-1])
        while len(stack) > 1:
            finished += self._finish(stack.pop())
        finished += self._finish(stack.pop())
        finished.sort()
        return tuple(place for place, _ in finished), tuple(labels for _, labels in finished)

    def _finish(self, phrase: _Phrase) -> Iterator[tuple[Position, int]]:
        """The children of a phrase; a child that is only its inner bracket is replaced by its own children."""
        children = [*phrase.children]
        heads = [child for child in children if child.labels & phrase.labels & self.projections]
        if len(heads) == 1 and self._is_inner(heads[0], phrase):
            place = children.index(heads[0])
            phrase.children[place : place + 1] = children.pop(place).children
        for child in children:
            yield (child.start, child.end), child.labels

    def _is_inner(self, child: _Phrase, phrase: _Phrase) -> bool:
        """Whether phrases follow the child, as in `(NP (NP x) (PP y))`, or words precede it: `(NP the (NP x))`."""
        if child.labels & (child.labels - 1):
            return False  # a unary chain
        others = [other for other in phrase.children if other is not child]
        if child.start == phrase.start and others:
            return sum(other.end - other.start for other in others) == phrase.end - child.end
        return child.end == phrase.end and not others and not child.labels & self.verb_phrase


def _is_related(labels: int, others: int) -> bool:
    """Whether one unary chain contains the other."""
    return labels & others in (labels, others)


def fit_words(
    readings: Sequence[Reading], distribution: TreeDistribution, sentence: int, grammar: LabelGrammar
) -> tuple[list[Reading], list[float]]:
    """The same readings with the tags and the constituents over single words that the grammar supports best.

    A constituent over a word has the log-odds of its label, a tag its own, and the tree the log-probability of its
    productions. The second result is their sum for each reading.
    """
    length, choices = (
        int(distribution.scores.lengths[sentence]),
        min(_WORD_CHOICES, distribution.best_labels[0].shape[-1]),
    )
    size, words = length + 1, np.arange(length)
    assert distribution.scores.tags is not None, "a grammar needs tags"
    tag_scores = distribution.scores.tags[sentence, :length]
    tags, tag_utility = possible_tags(*rank_tags(tag_scores, _MIN_TAG_ODDS), grammar, _MIN_TAG_ODDS)
    values, labels = (chart[sentence, words, words + 1, :choices] for chart in distribution.best_labels)
    label_odds = grammar.weight * (values - distribution.free[sentence, words, words + 1, None])
    word_cells = words * size + words + 1
    rows: list[tuple[int, list[int], list[float]]] = []
    for number, reading in enumerate(readings):
        first = number * size**2
        for cell, word_labels, word_odds in zip(word_cells.tolist(), labels.tolist(), label_odds.tolist(), strict=True):
            rows.append((first + cell, word_labels, word_odds))
        for (start, end), label in reading.tree:
            if end - start > 1:
                no_labels = [NO_LABEL] * (choices - 1)
                rows.append((first + start * size + end, [label, *no_labels], [_REQUIRED, *[0.0] * (choices - 1)]))
    cells, all_labels, utility = zip(*sorted(rows), strict=True)
    has_whole = [any(position == (0, length) for position, _ in reading.tree) for reading in readings]
    trees, sums = grammar.ranked_trees(
        CandidateSpans(
            lengths=np.full(len(readings), length),
            tags=np.tile(tags, (len(readings), 1)),
            tag_utility=np.tile(tag_utility, (len(readings), 1)),
            size=size,
            cells=np.array(cells),
            labels=np.array(all_labels),
            utility=np.array(utility, np.float32),
            sentence_labels=np.where(has_whole, NO_LABEL, grammar.empty_label),
        ),
        all_tags=True,
    )
    columns = (column.reshape(len(readings), -1).tolist() for column in (trees.starts, trees.ends, trees.labels))
    assert trees.tags is not None
    counts = distribution.labels.counts
    fitted = [
        reading._replace(
            tree=tuple(((start, end), label) for start, end, label in zip(*spans, strict=True) if counts[label] > 0),
            tags=tuple(tree_tags),
        )
        for reading, tree_tags, *spans in zip(readings, trees.tags.reshape(-1, length).tolist(), *columns, strict=True)
    ]
    phrases = [sum(end - start > 1 for (start, end), _ in reading.tree) for reading in readings]
    return fitted, ((sums - _REQUIRED * np.array(phrases)) / grammar.weight).tolist()
