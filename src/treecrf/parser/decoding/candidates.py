"""The spans and labels among which a grammar chooses: those with a probability that is not small."""

import numpy as np

from treecrf.arrays import Ints, Reals
from treecrf.network.data.scores import Scores
from treecrf.parser.decoding.constraints import ConstrainedScores
from treecrf.parser.decoding.expected_f1 import ExpectedF1
from treecrf.parser.decoding.label_grammar import NO_LABEL, CandidateSpans

CHOICES = 4  # labels per span
MIN_PROBABILITY = 0.05  # smallest probability of a span with a label
SPANS_PER_WORD = 5  # the most probable spans of a sentence; few sentences have more than three above the minimum
_REQUIRED = np.float32(1e6)  # utility of constituents that a constraint requires
LABEL_TIE_BREAK = np.float32(1e-3)  # weight of label probabilities, which decide between labels of equal utility


def find_candidates(scores: Scores, marginals: Reals, expected_f1: ExpectedF1) -> CandidateSpans:
    """The candidates of a batch, given the marginals of its spans.

    A label's utility is at most the utility of the most probable label, unless that label has no constituents: see
    `expected_f1.py`.
    """
    size, lengths = scores.spans.shape[1], scores.lengths
    flat_marginals = marginals.ravel()
    cells = _most_probable(flat_marginals, lengths, size)
    sentences = np.searchsorted(cells, sentence_cells(lengths, size))
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
    if isinstance(scores, ConstrainedScores):
        is_required = label_scores[:, expected_f1.empty_label] == -np.inf
        is_choice[is_required, 0] = has_constituents[is_required, 0]
        utility[is_required] += _REQUIRED
    return CandidateSpans(
        lengths=lengths,
        tags=best_tags(scores),
        size=size,
        cells=cells,
        labels=np.where(is_choice, labels, NO_LABEL),
        utility=utility,
        sentence_labels=np.where(has_constituents[sentences, 0], NO_LABEL, labels[sentences, 0]),
    )


def sentence_cells(lengths: Ints, size: int) -> Ints:
    """The flat chart cells of the spans of whole sentences."""
    return np.arange(len(lengths)) * size**2 + lengths


def best_tags(scores: Scores) -> Ints:
    """The best tag of every word of a batch, (words,)."""
    assert scores.tags is not None, "the network predicts tags"
    is_word = np.arange(scores.tags.shape[1]) < scores.lengths[:, None]
    return scores.tags.argmax(-1)[is_word]


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
