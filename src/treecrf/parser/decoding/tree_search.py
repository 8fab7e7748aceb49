"""The most probable readings of a sentence, by an exact search.

A reading is a tree up to trifles: constituents over one word, and unary chains of which one contains the other, such as
`S VP` and `VP`. The search enumerates the trees whose constituents over single words are summed out, the most probable
first. A tree that differs from a better one in trifles alone belongs to the better one's reading, and any other tree is
a new reading. The probability of a reading is the sum over all of its trees.

The enumeration is an A* search. A partial tree has some spans that are not expanded yet. Its bound adds the scores of
their best subtrees to its score, so the first complete tree is the best one. A span is expanded by one of its options:
a label or no constituent, and a split. When an option is taken, the span's next best option waits in the queue.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from itertools import combinations, count
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Ints, Mask
from treecrf.parser.decoding.constraints import Position
from treecrf.parser.decoding.label_grammar import NO_LABEL, CandidateSpans, LabelGrammar
from treecrf.parser.decoding.log_space import logsumexp
from treecrf.parser.decoding.tree_distribution import TreeDistribution

_TREES_PER_READING = 20  # trees that are enumerated for each reading, at most
_OVERLAPS = 6  # better readings with the same phrases whose common trees are subtracted
_WORD_CHOICES = 4  # labels of a single word that a grammar chooses from
_REQUIRED = 1e6  # utility of the phrases of a reading

Constituents = tuple[tuple[Position, int], ...]  # the positions and label ids of a tree's constituents, sorted
_Span = tuple[int, int, bool]  # start, end, and whether the span is a right child


class Reading(NamedTuple):
    """The most probable tree of a reading, and the log-probability of the reading."""

    tree: Constituents
    log_prob: float


class Readings(NamedTuple):
    """Readings in descending order of probability. If they are exact, no other reading has a more probable tree."""

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

    def __iter__(self) -> Iterator[Constituents]:
        """Yields the constituents of two or more words of each tree."""
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
            yield tuple(sorted(_constituents(chosen)))

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
    distribution: TreeDistribution, sentence: int, k: int, *, should_stop: Callable[[], bool] | None = None
) -> Readings:
    """The k readings whose most probable trees are the most probable ones.

    The search ends early after some trees, or when `should_stop` returns true. It then has at least one reading.
    """
    related, enumeration = _related_labels(distribution), _Enumeration(distribution, sentence)
    found: dict[Constituents, float] = {}
    is_exact = not distribution.all_derivations  # the enumeration is in the order of left-binarized derivations
    for number, tree in enumerate(enumeration):
        is_exact &= enumeration.is_exact(tree)
        if number == _TREES_PER_READING * k or (found and should_stop is not None and should_stop()):
            is_exact = False
            break
        if not any(_is_same_reading(tree, better, related) for better in found):
            found[tree] = _reading_log_prob(distribution, sentence, tree, list(found), related)
        if len(found) == k:
            break
    readings = [Reading((*tree, *enumeration.word_constituents()), log_prob) for tree, log_prob in found.items()]
    return Readings(sorted(readings, key=lambda reading: -reading.log_prob), is_exact)


def fit_words(
    readings: Sequence[Reading], distribution: TreeDistribution, sentence: int, grammar: LabelGrammar, tags: Ints
) -> list[Reading]:
    """The same readings with the constituents over single words that the grammar supports best.

    The labels of spans are independent of each other in the model, so the most probable ones often do not fit together.
    A constituent over a word has the log-odds of its label, and its tree the log-probability of its productions. `tags`
    are the ids of the words' tags.
    """
    length, choices = len(tags), min(_WORD_CHOICES, distribution.best_labels[0].shape[-1])
    size, words = length + 1, np.arange(length)
    values, labels = (chart[sentence, words, words + 1, :choices] for chart in distribution.best_labels)
    odds = grammar.weight * (values - distribution.free[sentence, words, words + 1, None])
    word_cells = words * size + words + 1
    rows: list[tuple[int, list[int], list[float]]] = []
    for number, reading in enumerate(readings):
        first = number * size**2
        for cell, word_labels, word_odds in zip(word_cells.tolist(), labels.tolist(), odds.tolist(), strict=True):
            rows.append((first + cell, word_labels, word_odds))
        for (start, end), label in reading.tree:
            if end - start > 1:
                no_labels = [NO_LABEL] * (choices - 1)
                rows.append((first + start * size + end, [label, *no_labels], [_REQUIRED, *[0.0] * (choices - 1)]))
    cells, all_labels, utility = zip(*sorted(rows), strict=True)
    has_whole = [any(position == (0, length) for position, _ in reading.tree) for reading in readings]
    trees = grammar.best_trees(
        CandidateSpans(
            lengths=np.full(len(readings), length),
            tags=np.tile(tags, len(readings)),
            size=size,
            cells=np.array(cells),
            labels=np.array(all_labels),
            utility=np.array(utility, np.float32),
            sentence_labels=np.where(has_whole, NO_LABEL, grammar.empty_label),
        )
    )
    columns = (column.reshape(len(readings), -1).tolist() for column in (trees.starts, trees.ends, trees.labels))
    counts = distribution.labels.counts
    return [
        reading._replace(
            tree=tuple(((start, end), label) for start, end, label in zip(*spans, strict=True) if counts[label] > 0)
        )
        for reading, *spans in zip(readings, *columns, strict=True)
    ]


def _related_labels(distribution: TreeDistribution) -> Mask:
    """Whether the unary chain of one label contains the chain of another label, (labels, labels)."""
    contains, counts = distribution.labels.contains[:, :-1].astype(np.int64), distribution.labels.counts
    common = contains @ contains.T
    related: Mask = (common > 0) & ((common == counts) | (common == counts[:, None]))
    return related


def _is_same_reading(tree: Constituents, better: Constituents, related: Mask) -> bool:
    return len(tree) == len(better) and all(
        position == other and related[label, other_label]
        for (position, label), (other, other_label) in zip(tree, better, strict=True)
    )


def _reading_log_prob(
    distribution: TreeDistribution, sentence: int, tree: Constituents, better: Sequence[Constituents], related: Mask
) -> float:
    """The log-probability of a tree's reading, without the trees that belong to better readings.

    All trees of a reading have the same phrases, so the sum over them has a sum over labels for each phrase. Trees that
    also differ from better readings in trifles alone are subtracted, by inclusion and exclusion.
    """
    positions, labels = [position for position, _ in tree], [label for _, label in tree]
    starts, ends = np.array(positions, np.int64).reshape(-1, 2).T
    potentials = distribution.potentials(distribution.cells(sentence, starts, ends))
    words = distribution.either[sentence].diagonal(1)[: int(distribution.scores.lengths[sentence])]
    rivals = [other for other in better if [position for position, _ in other] == positions][:_OVERLAPS]
    is_related = [related[[label for _, label in rival]] for rival in rivals]

    def log_sum(masks: Sequence[Mask]) -> float:
        is_common = reduce(np.logical_and, masks, related[labels])
        values = logsumexp(np.where(is_common, potentials, -np.inf)).tolist()
        return distribution.log_sum(sentence, dict(zip(positions, values, strict=True)), words)

    total, share = log_sum(()), 1.0
    for size in range(1, len(rivals) + 1):
        share += (-1) ** size * sum(math.exp(log_sum(masks) - total) for masks in combinations(is_related, size))
    return min(0.0, total - float(distribution.log_z[sentence]) + math.log(share))
