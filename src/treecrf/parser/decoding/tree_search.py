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


_Option = tuple[float, int, int]  # the value, the label or NO_LABEL, and the split


# Plain tuples, because a search makes thousands of each.
_Chosen = tuple[tuple[Position, int], "_Chosen | None"]  # the last constituent of a partial tree, and those before it
_Pending = tuple[_Span, "_Pending | None"]  # the next span of a partial tree that is not expanded, and the rest
# the negative bound of a partial tree, a number in order of discovery, its constituents and spans, and the rank of the
# option that its next span takes
_Partial = tuple[float, int, _Chosen | None, _Pending | None, int]


class _Enumeration:
    """The trees of a sentence in descending order of probability, constituents over single words summed out."""

    def __init__(self, distribution: TreeDistribution, sentence: int, *, count: int) -> None:
        """`count` is the largest number of trees that are asked for."""
        self._count = count
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
        whole: _Pending | None = ((0, self.length, False), None) if self.length > 1 else None
        queue: list[_Partial] = [(-float(self._left[0, self.length]), next(numbers), None, whole, 0)]
        while queue and queue[0][0] < np.inf:
            negative_bound, _, chosen, pending, rank = heapq.heappop(queue)
            while pending is not None:
                span, rest = pending
                ranked, (start, end, _) = options(span), span
                value, label, split = ranked[rank]
                if rank + 1 < len(ranked):
                    bound = negative_bound + value - ranked[rank + 1][0]
                    heapq.heappush(queue, (bound, next(numbers), chosen, pending, rank + 1))
                if label != NO_LABEL:
                    chosen = ((start, end), label), chosen
                pending, rank = rest, 0
                if end - split > 1:
                    pending = (split, end, True), pending
                if split - start > 1:
                    pending = (start, split, False), pending
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
        """The best options of a span of two or more words, the best first; each tree needs at most one more."""
        start, end, is_right = span
        width = end - start
        splits = self._left[start, 1:width] + self._right[end, width - 1 : 0 : -1]
        labels, values = self._labels[start, end].tolist(), self._values[start, end].tolist()
        if not is_right:
            labels, values = [*labels, NO_LABEL], [*values, float(self._free[start, end])]
        sums = np.add.outer(np.array(values), splits).ravel()
        order = np.argsort(-sums, kind="stable")[: self._count]
        order = order[sums[order] > -np.inf]
        rows, columns = np.divmod(order, len(splits))
        ranked_labels = [labels[row] for row in rows.tolist()]
        return list(zip(sums[order].tolist(), ranked_labels, (start + 1 + columns).tolist(), strict=True))


def _constituents(chosen: _Chosen | None) -> Iterator[tuple[Position, int]]:
    while chosen is not None:
        constituent, chosen = chosen
        yield constituent


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
    most_trees = int(_TREES_PER_READING * k)
    enumeration = _Enumeration(distribution, sentence, count=most_trees + 1)
    shapes = _Shapes.of(distribution.labels, is_word or [True] * enumeration.length)
    found: dict[tuple[Position, ...], list[_Found]] = defaultdict(list)  # by the places of phrases
    readings: list[_Found] = []
    is_exact = not distribution.all_derivations  # the enumeration is in the order of left-binarized derivations
    is_complete, best = True, -math.inf
    for number, (tree, score) in enumerate(enumeration):
        best = max(best, score)
        if score < best - _LOG_RATIO and len(readings) >= k:
            break
        if number == most_trees or (found and should_stop is not None and should_stop()):
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
    order = [reading.log_prob + _GRAMMAR_ORDER * value for reading, value in zip(candidates, support, strict=True)]
    others = sorted(range(1, len(order)), key=lambda number: -order[number])
    return Readings(list(map(fitted, (0, *others[: k - 1]))), is_exact)


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
        by_name = dict(zip(labels.strings, labels.bits, strict=True))
        projections = reduce(or_, (by_name.get(name, 0) for name in _PROJECTIONS))
        return _Shapes(labels.bits, projections, by_name.get("VP", 0), [0, *accumulate(map(int, is_word))])

    def signature(self, tree: Constituents) -> tuple[tuple[Position, ...], tuple[int, ...]]:
        """The places of the phrases of a tree in order, and their labels as bits."""
        by_place: dict[Position, int] = {}  # by start and negative end, so that phrases sort before those in them
        bits, places = self.bits, self.places
        for (start, end), label in tree:
            start, end = places[start], places[end]
            if end - start > 1:
                by_place[start, -end] = by_place.get((start, -end), 0) | bits[label]
        stack: list[_Phrase] = [_Phrase(0, self.places[-1], 0, [])]
        finished: list[tuple[Position, int]] = []
        for (start, negative_end), labels in sorted(by_place.items()):
            while -negative_end > stack[-1].end:
                finished += self._finish(stack.pop())
            phrase = _Phrase(start, -negative_end, labels, [])
            stack[-1].children.append(phrase)
            stack.append(phrase)
        while stack:
            finished += self._finish(stack.pop())
        finished.sort()
        return tuple([place for place, _ in finished]), tuple([labels for _, labels in finished])

    def _finish(self, phrase: _Phrase) -> list[tuple[Position, int]]:
        """The children of a phrase, without a child that is only its inner bracket."""
        heads = [child for child in phrase.children if child.labels & phrase.labels & self.projections]
        inner = heads[0] if len(heads) == 1 and self._is_inner(heads[0], phrase) else None
        return [((child.start, child.end), child.labels) for child in phrase.children if child is not inner]

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
) -> tuple[Callable[[int], Reading], list[float]]:
    """Finds the tags and the constituents over single words that the grammar supports best.

    A constituent over a word has the log-odds of its label, a tag its own, and the tree the log-probability of its
    productions. Returns a function that gives the reading of a number with these, and their sum for each reading.
    """
    length = int(distribution.scores.lengths[sentence])
    choices = min(_WORD_CHOICES, distribution.best_labels[0].shape[-1])
    size, words = length + 1, np.arange(length)
    assert distribution.scores.tags is not None, "a grammar needs tags"
    tag_scores = distribution.scores.tags[sentence, :length]
    tags, tag_utility = possible_tags(*rank_tags(tag_scores, _MIN_TAG_ODDS), grammar, _MIN_TAG_ODDS)
    values, labels = (chart[sentence, words, words + 1, :choices] for chart in distribution.best_labels)
    label_odds = grammar.weight * (values - distribution.free[sentence, words, words + 1, None])
    first_cells = np.arange(len(readings))[:, None] * size**2
    word_cells = (first_cells + words * size + words + 1).ravel()
    phrases = [
        (number * size**2 + start * size + end, label)
        for number, reading in enumerate(readings)
        for (start, end), label in reading.tree
        if end - start > 1
    ]
    phrase_cells, phrase_labels = np.array(phrases, np.int64).reshape(-1, 2).T
    cells = np.concatenate([word_cells, phrase_cells])
    order = np.argsort(cells)
    all_labels = np.full((len(cells), choices), NO_LABEL)
    all_labels[: len(word_cells)] = np.tile(labels, (len(readings), 1))
    all_labels[len(word_cells) :, 0] = phrase_labels
    utility = np.zeros((len(cells), choices), np.float32)
    utility[: len(word_cells)] = np.tile(label_odds, (len(readings), 1))
    has_whole = np.isin(first_cells[:, 0] + length, phrase_cells)
    trees, sums = grammar.ranked_trees(
        CandidateSpans(
            lengths=np.full(len(readings), length),
            tags=np.tile(tags, (len(readings), 1)),
            tag_utility=np.tile(tag_utility, (len(readings), 1)),
            size=size,
            cells=cells[order],
            labels=all_labels[order],
            utility=utility[order],
            sentence_labels=np.where(has_whole, NO_LABEL, grammar.empty_label),
            required=order >= len(word_cells),
        ),
        all_tags=True,
    )
    assert trees.tags is not None
    all_tags = trees.tags.reshape(-1, length)
    columns = [column.reshape(len(readings), -1) for column in (trees.starts, trees.ends, trees.labels)]

    def fitted(number: int) -> Reading:
        is_constituent = distribution.labels.counts[columns[2][number]] > 0
        spans = zip(*(column[number][is_constituent].tolist() for column in columns), strict=True)
        tree = tuple(((start, end), label) for start, end, label in spans)
        return readings[number]._replace(tree=tree, tags=tuple(all_tags[number].tolist()))

    return fitted, (sums / grammar.weight).tolist()
