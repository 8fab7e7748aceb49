"""Expected-F1 decoding: the utility of a label over a span.

The utility of a constituent is its probability minus a threshold. A tree with maximal total utility has maximal
expected F1, as the quotient of expected numbers, when the threshold is half of that F1. Labels without constituents
have no utility. Without a grammar, the best tree consists of the labels of maximal utility, and it is exact. A grammar
chooses among candidates: the spans and labels whose probability is not small. There, a label's utility is at most the
utility of the most probable label: the constituents of `S SQ` may be probable because of the labels `S` and `SQ`,
although no tree has both.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints, Reals
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.constraints import ConstrainedScores
from treecrf.parser.decoding.label_grammar import NO_LABEL, NO_TAG, CandidateSpans, LabelGrammar, available
from treecrf.parser.decoding.log_space import log_softmax
from treecrf.threads import num_threads, run_on_threads
from treecrf.trees.treebank.binarize import LabelSet

_THREAD_SPANS = 128  # spans per thread: they take a few times as long as waking the thread


class RankedLabels(NamedTuple):
    """The most probable labels of spans, in descending order; all arrays are (spans, choices)."""

    labels: Ints
    utility: Reals
    probabilities: Reals  # probabilities of the labels, given the span


@dataclass(frozen=True, kw_only=True, eq=False)
class ExpectedF1:
    """Scores labels by the probabilities of their constituents minus a threshold for each.

    With a `grammar`, the utility of a tree also contains the log-probability of its productions.
    """

    threshold: float
    constituents: Doubles  # (labels, names): 1 where the label's unary chain contains the constituent
    counts: Doubles  # (labels,): constituents per label
    grammar: LabelGrammar | None = None

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise ValueError(f"f1_threshold is {self.threshold}; expected a probability between 0 and 1")

    @staticmethod
    def for_labels(labels: LabelSet, threshold: float, grammar: LabelGrammar | None = None) -> "ExpectedF1":
        return ExpectedF1(
            threshold=threshold,
            constituents=labels.contains[:, :-1].astype(np.float64),
            counts=labels.counts.astype(np.float64),
            grammar=grammar,
        )

    @cached_property
    def empty_label(self) -> int:
        """A label without constituents; all of them give the same tree."""
        return int(self.counts.argmin())

    @cached_property
    def common(self) -> Doubles:
        """The number of constituents that each pair of labels has in common, (labels, labels)."""
        common: Doubles = self.constituents @ self.constituents.T
        return common

    @cached_property
    def _sparse(self) -> tuple[Ints, Ints]:
        """The constituents of each label as a sparse matrix: the first entry of each label, and the column of each."""
        first_entries = np.concatenate([[0], self.constituents.sum(1).astype(np.int64).cumsum()])
        return first_entries, np.ascontiguousarray(self.constituents.nonzero()[1])

    def best_labels(self, label_scores: Reals, marginals: Reals) -> tuple[Reals, Ints]:
        """Returns the highest utility and its label, for label scores (spans, labels) and marginals (spans,).

        Label scores are -inf where a constraint forbids the label. Labels without constituents have the utility 0; the
        most probable one stands for them.
        """
        probabilities = np.exp(log_softmax(label_scores))
        # not by BLAS, whose rounding of a span depends on the number of spans
        expected = np.einsum("sl,lc->sc", probabilities, self.constituents)
        utility = marginals[:, None] * np.einsum("sc,lc->sl", expected, self.constituents)
        utility = np.where(label_scores == -np.inf, -np.inf, utility - self.threshold * self.counts)
        labels = utility.argmax(-1)
        free_labels = np.where(self.counts > 0, -np.inf, label_scores).argmax(-1)
        return utility.max(-1).astype(np.float32), np.where(self.counts[labels] > 0, labels, free_labels)

    def rank_labels(self, label_scores: Reals, marginals: Reals, *, choices: int) -> RankedLabels:
        """The most probable labels of each span, for label scores (spans, labels) and marginals (spans,)."""
        if available and label_scores.dtype == marginals.dtype == np.float32:
            return self._compiled_rank_labels(label_scores, marginals, choices)
        probabilities = np.exp(log_softmax(label_scores))
        labels = np.argsort(-label_scores, -1, kind="stable")[:, :choices]
        # the constituents of each of these labels, in all labels
        expected = np.stack([(probabilities * self.common[column]).sum(-1) for column in labels.T], -1)
        utility = marginals[:, None] * expected - self.threshold * self.counts[labels]
        label_probabilities = np.take_along_axis(probabilities, labels, -1)
        return RankedLabels(labels, utility.astype(np.float32), label_probabilities.astype(np.float32))

    def _compiled_rank_labels(self, label_scores: Reals, marginals: Reals, choices: int) -> RankedLabels:
        from treecrf.parser.decoding import _decoding

        spans = len(label_scores)
        first_entries, columns = self._sparse
        settings = (spans, *self.constituents.shape, len(columns), choices, self.threshold)
        ranked = RankedLabels(*(np.empty((spans, choices), dtype) for dtype in (np.int64, np.float32, np.float32)))
        arrays = (
            np.ascontiguousarray(label_scores),
            np.ascontiguousarray(marginals),
            first_entries,
            columns,
            self.counts,
            ranked.utility,
            ranked.probabilities,
            np.zeros(1, dtype=np.int64),  # a counter that the threads share
            ranked.labels,
        )
        threads = max(1, min(num_threads(), spans // _THREAD_SPANS))
        run_on_threads(_decoding.label_utility, threads, *settings, *(array.ctypes.data for array in arrays))
        return ranked


CHOICES = 4  # labels per span
MIN_PROBABILITY = 0.05  # smallest probability of a span with a label
SPANS_PER_WORD = 5  # the most probable spans of a sentence; few sentences have more than three above the minimum
TAG_CHOICES = 3  # tags per word
MIN_TAG_ODDS = -6.0  # smallest log-odds of a tag against the best one
TAG_WEIGHT = 2.0  # weight of the log-odds of tags, times the grammar's weight
LABEL_TIE_BREAK = np.float32(1e-3)  # weight of label probabilities, which decide between labels of equal utility


def find_candidates(scores: Scores, marginals: Reals, expected_f1: ExpectedF1) -> CandidateSpans:
    """The candidates of a batch, given the marginals of its spans.

    A label's utility is at most the utility of the most probable label, unless that label has no constituents: see
    `expected_f1.py`.
    """
    size, lengths = scores.spans.shape[1], scores.lengths
    flat_marginals = marginals.ravel()
    cells = _most_probable(flat_marginals, lengths, size)
    sentences = np.searchsorted(cells, np.arange(len(lengths)) * size**2 + lengths)  # the spans of whole sentences
    span_marginals = flat_marginals[cells]
    span_marginals[sentences] = 1.0  # every tree has these spans
    label_scores = scores.labels_at(cells)
    labels, utility, probabilities = expected_f1.rank_labels(
        label_scores, span_marginals, choices=min(CHOICES, label_scores.shape[1])
    )
    has_constituents = expected_f1.counts[labels] > 0
    limits = np.where(has_constituents[:, :1], utility[:, :1], np.float32(np.inf))
    utility = np.minimum(utility, limits) - LABEL_TIE_BREAK * (probabilities[:, :1] - probabilities)
    is_choice = has_constituents & (span_marginals[:, None] * probabilities >= MIN_PROBABILITY)
    is_choice[sentences] &= has_constituents[sentences, :1]
    is_choice[sentences, 0] = has_constituents[sentences, 0]
    is_required = np.zeros(len(cells), np.bool_)
    if isinstance(scores, ConstrainedScores):
        is_required = label_scores[:, expected_f1.empty_label] == -np.inf
        is_choice[is_required, 0] = has_constituents[is_required, 0]
        is_required &= is_choice.any(1)
    tag_scores, grammar = scores.word_tags, expected_f1.grammar
    assert grammar is not None and tag_scores is not None, "the network predicts tags"
    tags, tag_utility = possible_tags(*rank_tags(tag_scores), grammar)
    return CandidateSpans(
        lengths=lengths,
        tags=tags,
        tag_utility=tag_utility,
        size=size,
        cells=cells,
        labels=np.where(is_choice, labels, NO_LABEL),
        utility=utility,
        sentence_labels=np.where(has_constituents[sentences, 0], NO_LABEL, labels[sentences, 0]),
        required=is_required,
    )


def rank_tags(tag_scores: Reals, min_odds: float = MIN_TAG_ODDS) -> tuple[Ints, Reals]:
    """The best tags of words and their log-odds against the best one, (words, choices), for scores (words, tags).

    If no word has a second tag of at least `min_odds`, there is one choice. It is found in less time.
    """
    best = tag_scores.argmax(-1)[:, None]
    odds = tag_scores - np.take_along_axis(tag_scores, best, -1)
    ambiguous = np.count_nonzero(odds >= min_odds, -1) > 1
    choices = min(TAG_CHOICES, tag_scores.shape[-1]) if ambiguous.any() else 1
    tags = np.repeat(best, choices, -1)
    tags[ambiguous] = np.argsort(-odds[ambiguous], -1, kind="stable")[:, :choices]
    ranked: Reals = np.take_along_axis(odds, tags, -1)
    ranked[~ambiguous, 1:] = -np.inf
    return tags, ranked


def possible_tags(tags: Ints, odds: Reals, grammar: LabelGrammar, min_odds: float = MIN_TAG_ODDS) -> tuple[Ints, Reals]:
    """The ranked tags with log-odds of at least `min_odds`, the others replaced by NO_TAG, and their utility.

    The grammar's probability of a tag, given its context, counts only as far as it exceeds the tag's probability
    without a context, because the odds know how frequent the tag is.
    """
    is_possible = odds >= min_odds
    excess = grammar.tag_log_probs[tags] - grammar.tag_log_probs[tags[:, :1]]
    utility = grammar.weight * (TAG_WEIGHT * np.where(is_possible, odds, 0.0) - excess)
    return np.where(is_possible, tags, NO_TAG), utility.astype(np.float32)


def _most_probable(flat_marginals: Reals, lengths: Ints, size: int) -> Ints:
    """The cells of spans above the minimal probability, at most SPANS_PER_WORD for each word of a sentence."""
    cells = np.flatnonzero(flat_marginals >= MIN_PROBABILITY)
    sentences = cells // size**2
    excess = np.bincount(sentences, minlength=len(lengths)) - SPANS_PER_WORD * lengths
    for sentence in np.flatnonzero(excess > 0):
        places = np.flatnonzero(sentences == sentence)
        order = np.argsort(flat_marginals[cells[places]], kind="stable")
        cells[places[order[: excess[sentence]]]] = -1
    return cells[cells >= 0]
