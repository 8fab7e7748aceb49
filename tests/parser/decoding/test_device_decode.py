import pytest
import torch

from parser.decoding.decoded import parts, to_torch, utility
from parser.decoding.random_scores import LABELS, LOSSES, random_scores
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.device_decode import decode_on_device, nonzero_static

LENGTHS = [7, 1, 12, 3, 2, 20]


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
