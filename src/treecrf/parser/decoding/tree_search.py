"""The best readings of a sentence: its most probable trees, one for all trees with the same attachments.

The search enumerates the trees whose constituents over single words are summed out, the most probable first. The
grammar chooses the tags and the constituents over single words of each tree. Trees with the same attachments, see
`attachments.py`, are one reading, and its probability sums them.

The first reading is the most probable one. The others are ordered by the sum over their trees of probability and the
grammar's support, because the labels of spans are independent of each other in the model, so that probable ones may
make an ill-formed tree. The tree of a reading is the best one by both, where the support counts in full.

The enumeration is an A* search. A partial tree has some spans that are not expanded yet. Its bound adds the scores of
their best subtrees to its score, so the first complete tree is the best one. A span is expanded by one of its options:
a label or no constituent, and a split. When an option is taken, the span's next best option waits in the queue.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import compress, count
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints
from treecrf.parser.decoding.attachments import Attachments
from treecrf.parser.decoding.constraints import Position
from treecrf.parser.decoding.expected_f1 import possible_tags, rank_tags
from treecrf.parser.decoding.label_grammar import NO_LABEL, CandidateSpans, LabelGrammar
from treecrf.parser.decoding.tree_distribution import TreeDistribution

_TREES_PER_READING = (9, 30)  # trees that are enumerated for each reading; the second time if there are few readings
_LOG_RATIO = 12.0  # more trees are not enumerated if they are less probable than the best one by this factor
_GRAMMAR_ORDER = 0.25  # weight of the grammar's log-probabilities in the order of readings
_WORD_CHOICES = 4  # labels of a single word that a grammar chooses from
_MIN_TAG_ODDS = -9.0  # smallest log-odds of a tag

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
        values, labels = (chart[sentence, :size, :size] for chart in distribution.best_labels)
        free = distribution.free[sentence, :size, :size]
        self._values = np.concatenate([values, free[..., None]], -1)  # the last choice is no label
        self._labels = np.concatenate([labels, np.full_like(labels[..., :1], NO_LABEL)], -1)
        labeled = values[..., 0]
        either = np.maximum(labeled, free)
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
        is_complete = self._values.shape[-1] > self._label_count
        return is_complete or all(label != self._labels[position][-2] for position, label in tree)

    def word_constituents(self) -> Constituents:
        """The most probable constituents over single words."""
        words = [(word, word + 1) for word in range(self.length)]
        is_constituent = [self._values[word][0] > self._values[word][-1] for word in words]
        return tuple((word, int(self._labels[word][0])) for word in compress(words, is_constituent))

    def _options(self, span: _Span) -> list[_Option]:
        """The best options of a span of two or more words, the best first; each tree needs at most one more."""
        start, end, is_right = span
        width = end - start
        splits = self._left[start, 1:width] + self._right[end, width - 1 : 0 : -1]
        labels, values = self._labels[start, end], self._values[start, end]
        sums = np.add.outer(values[:-1] if is_right else values, splits).ravel()
        order = np.argsort(-sums, kind="stable")[: self._count]
        rows, columns = np.divmod(order, len(splits))
        options = zip(sums[order].tolist(), labels[rows].tolist(), (start + 1 + columns).tolist(), strict=True)
        return [option for option in options if option[0] > -np.inf]


def _constituents(chosen: _Chosen | None) -> Iterator[tuple[Position, int]]:
    while chosen is not None:
        constituent, chosen = chosen
        yield constituent


def find_readings(
    distribution: TreeDistribution,
    sentence: int,
    k: int,
    *,
    attachments: Attachments,
    tags: Sequence[str],
    is_word: Sequence[bool] = (),
    grammar: LabelGrammar | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Readings:
    """The k best readings; `tags` are the words' tags without a grammar, and `is_word` is false for punctuation.

    The search ends early after some trees, or when `should_stop` returns true. It then has at least one reading.
    """
    for trees_per_reading in _TREES_PER_READING:
        limit = int(trees_per_reading * k)
        enumeration = _Enumeration(distribution, sentence, count=limit + 1)
        found, is_complete = _best_trees(enumeration, limit, int(_TREES_PER_READING[0] * k), should_stop)
        phrases, scores = [tree for tree, _ in found], np.array([score for _, score in found])
        log_probs = np.minimum(0.0, scores - distribution.log_z[sentence])
        words = enumeration.word_constituents()
        trees = [Reading((*tree, *words), log_prob) for tree, log_prob in zip(phrases, log_probs.tolist(), strict=True)]
        if grammar is None or enumeration.length == 1:
            fitted = FittedWords(trees.__getitem__, np.zeros(len(trees)))
            symbols = np.tile(attachments.symbols(tags), (len(trees), 1))
        else:
            fitted = fit_words(trees, distribution, sentence, grammar)
            symbols = attachments.tags[fitted.tags]
        groups: dict[bytes, list[int]] = {}
        for number, key in enumerate(attachments.keys(phrases, symbols, is_word or [True] * enumeration.length)):
            groups.setdefault(key, []).append(number)
        if is_complete or len(groups) >= k or len(found) < limit:
            break
    last = [*groups.values()][k - 1][0] if len(groups) >= k else len(trees)
    is_exact = not distribution.all_derivations  # the enumeration is in the order of left-binarized derivations
    is_exact &= (is_complete or len(groups) >= k) and all(map(enumeration.is_exact, phrases[: last + 1]))
    order = log_probs + _GRAMMAR_ORDER * fitted.support
    ranked = sorted(groups.values(), key=lambda numbers: -float(np.logaddexp.reduce(order[numbers])))
    first = max(ranked, key=lambda numbers: float(np.logaddexp.reduce(log_probs[numbers])))
    ranked = [first, *(numbers for numbers in ranked if numbers is not first)]
    return Readings([_best_tree(numbers, log_probs, fitted) for numbers in ranked[:k]], is_exact)


def _best_trees(
    enumeration: _Enumeration, most: int, fewest: int, should_stop: Callable[[], bool] | None
) -> tuple[list[tuple[Constituents, float]], bool]:
    """The best trees with their log-potentials, and whether they are all; `fewest` trees however improbable."""
    found: list[tuple[Constituents, float]] = []
    for tree, score in enumeration:
        is_improbable = len(found) >= fewest and score < found[0][1] - _LOG_RATIO
        if is_improbable or len(found) == most or (found and should_stop is not None and should_stop()):
            return found, False
        found.append((tree, score))
    return found, True


def _best_tree(numbers: list[int], log_probs: Doubles, fitted: "FittedWords") -> Reading:
    """The best tree of a reading by probability and support, with the log-probability of the reading."""
    best = numbers[int((log_probs + fitted.support)[numbers].argmax())]
    return fitted.reading(best)._replace(log_prob=min(0.0, float(np.logaddexp.reduce(log_probs[numbers]))))


class FittedWords(NamedTuple):
    """Trees with the tags and the constituents over single words that suit them best."""

    reading: Callable[[int], Reading]  # the tree with a number
    support: Doubles  # (trees,) the sum of the log-odds of tags and words, and the log-probability of productions
    tags: Ints | None = None  # (trees, words)


def fit_words(
    readings: Sequence[Reading], distribution: TreeDistribution, sentence: int, grammar: LabelGrammar
) -> "FittedWords":
    """Finds the tags and the constituents over single words that the grammar supports best.

    A constituent over a word has the log-odds of its label, a tag its own, and the tree the log-probability of its
    productions.
    """
    # trees with the same last phrases follow each other: the grammar searches these phrases once
    numbers = sorted(range(len(readings)), key=lambda number: readings[number].tree[::-1])
    candidates = _word_candidates([readings[number].tree for number in numbers], distribution, sentence, grammar)
    trees, sums = grammar.ranked_trees(candidates, all_tags=True)
    assert trees.tags is not None
    places = np.argsort(numbers)
    tags, *columns = (
        column.reshape(len(readings), -1)[places] for column in (trees.tags, trees.starts, trees.ends, trees.labels)
    )

    def fitted(number: int) -> Reading:
        is_constituent = distribution.labels.counts[columns[2][number]] > 0
        spans = zip(*(column[number][is_constituent].tolist() for column in columns), strict=True)
        tree = tuple(((start, end), label) for start, end, label in spans)
        return readings[number]._replace(tree=tree, tags=tuple(tags[number].tolist()))

    return FittedWords(fitted, sums[places] / grammar.weight, tags)


def _word_candidates(
    trees: Sequence[Constituents], distribution: TreeDistribution, sentence: int, grammar: LabelGrammar
) -> CandidateSpans:
    """The tags and the constituents over single words from which the grammar chooses, for each of some trees.

    Constituents over two or more words are required.
    """
    length = int(distribution.scores.lengths[sentence])
    choices = min(_WORD_CHOICES, distribution.best_labels[0].shape[-1])
    size, words = length + 1, np.arange(length)
    assert distribution.scores.tags is not None, "a grammar needs tags"
    tag_scores = distribution.scores.tags[sentence, :length]
    tags, tag_utility = possible_tags(*rank_tags(tag_scores, _MIN_TAG_ODDS), grammar, _MIN_TAG_ODDS)
    values, labels = (chart[sentence, words, words + 1, :choices] for chart in distribution.best_labels)
    label_odds = grammar.weight * (values - distribution.free[sentence, words, words + 1, None])
    first_cells = np.arange(len(trees))[:, None] * size**2
    word_cells = (first_cells + words * size + words + 1).ravel()
    phrases = [
        (number * size**2 + start * size + end, label)
        for number, tree in enumerate(trees)
        for (start, end), label in tree
        if end - start > 1
    ]
    phrase_cells, phrase_labels = np.array(phrases, np.int64).reshape(-1, 2).T
    cells = np.concatenate([word_cells, phrase_cells])
    order = np.argsort(cells)
    all_labels = np.full((len(cells), choices), NO_LABEL)
    all_labels[: len(word_cells)] = np.tile(labels, (len(trees), 1))
    all_labels[len(word_cells) :, 0] = phrase_labels
    utility = np.zeros((len(cells), choices), np.float32)
    utility[: len(word_cells)] = np.tile(label_odds, (len(trees), 1))
    has_whole = np.isin(first_cells[:, 0] + length, phrase_cells)
    return CandidateSpans(
        lengths=np.full(len(trees), length),
        tags=np.tile(tags, (len(trees), 1)),
        tag_utility=np.tile(tag_utility, (len(trees), 1)),
        size=size,
        cells=cells[order],
        labels=all_labels[order],
        utility=utility[order],
        sentence_labels=np.where(has_whole, NO_LABEL, grammar.empty_label),
        required=order >= len(word_cells),
    )
