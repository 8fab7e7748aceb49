import numpy as np
import pytest
import torch

from small import random_parser
from toygrammar import toy_trees
from treecrf.chart.crf import SpanCRF
from treecrf.parser.decoding import decode
from treecrf.training.reproduce import speed
from treecrf.training.reproduce.speed import torch_struct_decode


def test_speed_table_has_both_parsers_with_and_without_mbr(report):
    lines = {line["name"]: line for line in report["tables"]["speed"]["lines"]}
    for name in ("two-stage, without MBR", "two-stage, with MBR", "one-stage-crf, with MBR"):
        assert lines[name]["sentences_per_second"] > 0 and "network" in lines[name]["parts"]
    assert lines["two-stage, with MBR"]["paper"] == 743
    chart = report["tables"]["speed"]["chart"]
    assert chart["inside"] > 0 and chart["backward"] > 0


def test_a_sample_has_all_trees_about_equally_often():
    trees = toy_trees(7, seed=1)
    sampled = speed.sample(trees, 17)
    assert len(sampled) == 17 and sampled == speed.sample(trees, 17)
    assert {sampled.count(tree) for tree in trees} == {2, 3}


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
