from dataclasses import replace

import numpy as np
import pytest
import torch

from kernels import with_kernels  # noqa: F401  # a fixture
from parser.decoding import label_grammars
from parser.decoding.decoded import parts, to_torch, utility
from parser.decoding.random_scores import LABELS, LOSSES, random_scores
from treecrf.network.nn.scorers import nonzero_static
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.device_decode import decode_on_device
from treecrf.parser.decoding.grammar import Grammar

LENGTHS = [7, 1, 12, 3, 2, 20]
WITH_GRAMMAR = {"expected_f1": label_grammars.with_grammar(Grammar(label_grammars.COUNTS))}
UTILITIES = [None, 0.2, 0.45, 0.9]


@pytest.mark.parametrize("threshold", UTILITIES)
@pytest.mark.parametrize("tags", [0, 5])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mbr", [True, False])
def test_decoding_on_a_device_gives_the_same_trees(mbr, loss, tags, threshold):
    scores = random_scores(LENGTHS, labels=len(LABELS), loss=loss, tags=tags, seed=1)
    expected = decode(scores, mbr=mbr, expected_f1=utility(threshold))
    pending = decode_on_device(to_torch(scores), mbr=mbr, expected_f1=utility(threshold))
    assert parts(pending()) == parts(expected)


def test_indices_of_true_values_are_padded_with_zero():
    mask = torch.tensor([False, True, False, True, True])
    assert nonzero_static(mask, 5).tolist() == [1, 3, 4, 0, 0]
    assert nonzero_static(mask, 2).tolist() == [1, 3]


@pytest.mark.parametrize("kernels", ["with_kernels", "host"])
@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
def test_decoding_with_a_grammar_on_a_device_gives_the_same_trees(loss, kernels, request):
    if kernels != "host":
        request.getfixturevalue(kernels)
    grammar = Grammar(label_grammars.COUNTS)
    scores = random_scores(LENGTHS, labels=len(label_grammars.LABELS), loss=loss, tags=3, seed=8)
    expected = decode(scores, expected_f1=label_grammars.with_grammar(grammar))
    actual = decode_on_device(to_torch(scores), expected_f1=label_grammars.with_grammar(grammar))()
    for name in ("starts", "ends", "labels", "tags"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))


@pytest.mark.parametrize("options", [{}, {"mbr": False}, {"expected_f1": utility(0.2)}, WITH_GRAMMAR])
@pytest.mark.usefixtures("with_kernels")
def test_scores_that_are_not_finite_are_an_error_unless_they_are_padding(options):
    scores = random_scores([4, 2], labels=len(LABELS), tags=2)  # padding is NaN
    decode_on_device(to_torch(scores), **options)()
    for damage in (np.nan, np.inf):
        scores.spans[1, 0, 2] = damage
        with pytest.raises(ValueError, match="scores that are not finite numbers"):
            decode_on_device(to_torch(scores), **options)()
        scores.spans[1, 0, 2] = 0.0


def test_label_scores_that_are_not_finite_are_an_error():
    scores = random_scores([4, 2], labels=len(LABELS), tags=2)
    labels = scores.labels_at(np.arange(scores.spans.size))
    labels[5] = np.nan  # the span of the first sentence at row 1, column 0, which no tree has
    table = replace(scores, score_labels=lambda cells: labels[cells])
    decode_on_device(to_torch(table))()
    labels[4] = np.nan  # the whole first sentence
    with pytest.raises(ValueError, match="scores that are not finite numbers"):
        decode_on_device(to_torch(table))()
