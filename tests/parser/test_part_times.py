import io

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser.benchmark import PartTimer
from treecrf.parser.decoding.device_decode import decode_on_device
from treecrf.parser.part_times import busy_share, part_table, time_parts

TREES = toy_trees(20, seed=2)
HOST_PARTS = ["sort into batches", "encode", "network", "chart and labels", "text", "put in order and write"]


@pytest.mark.parametrize("mbr", [True, False])
@pytest.mark.parametrize("is_on_device", [True, False])
def test_the_parts_together_parse(mbr: bool, is_on_device: bool) -> None:
    parser, timer, stream = random_parser(TREES), PartTimer("cpu"), io.BytesIO()
    sentences = [tree.words for tree in TREES]
    decode = {"tensor_decode": decode_on_device} if is_on_device else {}
    parser.f1_threshold = 0 if is_on_device else parser.f1_threshold
    time_parts(parser, [sentences[:15], sentences[15:]], stream, timer, mbr=mbr, **decode)
    assert stream.getvalue().decode().splitlines() == list(parser.brackets_many(sentences, exact=False, mbr=mbr))
    assert sorted(set(timer.seconds) - {"copy to the device", "copy to the host"}) == sorted(HOST_PARTS)
    assert min(timer.seconds.values()) > 0


def test_a_table_has_microseconds_and_shares() -> None:
    rows = [row.split() for row in part_table({"network": 3e-3, "text": 1e-3}, 1000)]
    assert rows == [
        ["network", "3.00", "us/sentence", "75.0%"],
        ["text", "1.00", "us/sentence", "25.0%"],
        ["one", "after", "the", "other", "4.00", "us/sentence"],
    ]


def test_the_share_of_the_device_is_at_most_one() -> None:
    seconds = {"network": 2.0, "chart and labels": 1.0, "text": 5.0}
    assert busy_share(seconds, 4.0) == 0.75
    assert busy_share(seconds, 2.0) == 1.0
