import numpy as np
import pytest
import torch

from small import random_parser
from toygrammar import toy_trees
from treecrf.chart.crf import SpanCRF
from treecrf.parser.decoding import decode
from treecrf.training.reproduce.baselines import supar_speed, torch_struct_decode

TREES = toy_trees(9, seed=4)


@pytest.mark.parametrize("mbr", [True, False])
def test_torch_struct_gives_the_same_trees(mbr):
    decode_with_torch_struct = torch_struct_decode()
    if decode_with_torch_struct is None:
        pytest.skip("torch-struct is not installed")
    parser = random_parser(TREES)
    scores = parser.model.score_on_device(parser.numericalizer.collate([tree.words for tree in TREES]))
    ours, theirs = decode(scores.to_host(), mbr=mbr), decode_with_torch_struct(scores, mbr=mbr)()
    assert np.array_equal(ours.starts, theirs.starts) and np.array_equal(ours.ends, theirs.ends)
    assert np.array_equal(ours.labels, theirs.labels)


@pytest.mark.filterwarnings("ignore:.*arg_constraints")
def test_supar_gives_the_same_marginals():
    structs = pytest.importorskip("supar.structs", reason="SuPar is not installed")
    scores, lengths = torch.randn(3, 8, 8), torch.tensor([7, 7, 7])
    theirs, crf = structs.ConstituencyCRF(scores, lengths), SpanCRF(scores, lengths)
    torch.testing.assert_close(theirs.log_partition, crf.log_partition, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(theirs.marginals, crf.marginals, rtol=1e-3, atol=1e-4)


def test_supar_speed_without_supar_is_the_reason(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "supar", None)
    assert "pip install" in supar_speed(TREES, TREES, tmp_path, "cuda", 1)
