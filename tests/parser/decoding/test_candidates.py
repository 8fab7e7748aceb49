import numpy as np
import pytest

from parser.decoding.label_grammars import COUNTS, LABELS, LENGTHS, with_grammar
from parser.decoding.random_scores import random_scores
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.expected_f1 import SPANS_PER_WORD, find_candidates
from treecrf.parser.decoding.grammar import Grammar


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(COUNTS)


def test_no_sentence_has_too_many_candidates(grammar: Grammar) -> None:
    scores = random_scores(LENGTHS, labels=len(LABELS), tags=3, seed=5, scale=0.01)
    marginals = np.where(np.isnan(scores.spans), 0, np.float32(0.9))  # far more than a tree has
    candidates = find_candidates(scores, marginals, with_grammar(grammar))
    assert (np.diff(candidates.first_spans) <= SPANS_PER_WORD * scores.lengths).all()


def test_no_label_has_a_higher_utility_than_the_most_probable_one(grammar: Grammar) -> None:
    scores = random_scores([12, 9], labels=len(LABELS), tags=3, seed=9, scale=2.0)
    expected_f1 = with_grammar(grammar)
    marginals = BracketDistribution.of(scores).marginals
    candidates = find_candidates(scores, marginals, expected_f1)
    ranked = expected_f1.rank_labels(
        scores.labels_at(candidates.cells), marginals.ravel()[candidates.cells], choices=candidates.labels.shape[1]
    )
    is_limited = (expected_f1.counts[ranked.labels[:, :1]] > 0) & (ranked.utility > ranked.utility[:, :1])
    assert is_limited.sum() > 3
    lost = 1e-3 * (ranked.probabilities[:, :1] - ranked.probabilities)
    limited = np.broadcast_to(candidates.utility[:, :1], ranked.utility.shape) - lost
    assert candidates.utility[is_limited] == pytest.approx(limited[is_limited], abs=1e-6)
