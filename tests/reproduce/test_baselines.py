import pytest
import torch

from small import random_parser
from toygrammar import toy_trees
from treecrf.chart.crf import SpanCRF
from treecrf.decoding import decode
from treecrf.reproduce.baselines import charts, supar_speed, torch_struct_decode

TREES = toy_trees(9, seed=4)


@pytest.mark.parametrize("mbr", [True, False])
def test_the_charts_of_torch_struct_find_our_trees(mbr):
    theirs = torch_struct_decode()
    if theirs is None:
        pytest.skip("torch-struct is not installed")
    parser = random_parser(TREES)
    with torch.no_grad():
        scores = parser.model(parser.numericalizer.collate([tree.words for tree in TREES]))
        ours, found = decode(scores, mbr=mbr), theirs(scores, mbr=mbr)
    assert torch.equal(ours.starts, found.starts) and torch.equal(ours.ends, found.ends)
    assert torch.equal(ours.labels, found.labels)


@pytest.mark.filterwarnings("ignore:.*arg_constraints")
@pytest.mark.parametrize("name", ["torch-struct", "SuPar"])
def test_a_peers_marginals_are_ours(name):
    if name not in charts():
        pytest.skip(f"{name} is not installed")
    scores, lengths = torch.randn(3, 8, 8), torch.tensor([7, 7, 7])
    log_z, marginals = charts()[name](scores, lengths)
    crf = SpanCRF(scores, lengths)
    torch.testing.assert_close(log_z, crf.log_partition, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(marginals, crf.marginals, rtol=1e-3, atol=1e-4)


def test_without_supar_there_is_a_reason_in_place_of_its_speed(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "supar", None)
    assert "pip install" in supar_speed(TREES, TREES, tmp_path, "cuda", 1)
