import numpy as np
import pytest

from parser.decoding.label_grammars import COUNTS, LABELS, LENGTHS, with_grammar
from parser.decoding.random_scores import random_scores
from treecrf.parser.decoding.candidates import SPANS_PER_WORD, find_candidates
from treecrf.parser.decoding.grammar import Grammar


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(COUNTS)


def test_no_sentence_has_too_many_candidates(grammar: Grammar) -> None:
    scores = random_scores(LENGTHS, labels=len(LABELS), tags=3, seed=5, scale=0.01)
    marginals = np.where(np.isnan(scores.spans), 0, np.float32(0.9))  # far more than a tree has
    candidates = find_candidates(scores, marginals, with_grammar(grammar))
    assert (np.diff(candidates.first_spans) <= SPANS_PER_WORD * scores.lengths).all()
