import time

import pytest
import torch

from treecrf.parser.timer import PartTimer, median_seconds, time_call, time_runs


def test_runs_are_a_warm_up_and_repeats():
    calls = []
    assert len(time_runs(lambda: calls.append(None), 3)) == len(calls) == 4


def test_median_does_not_include_the_warm_up():
    pauses = iter([0.2, 0.0, 0.0, 0.0])
    assert median_seconds(lambda: time.sleep(next(pauses)), 3) < 0.1


def test_a_call_is_timed():
    assert time_call(lambda: time.sleep(0.02)) >= 0.02


def test_times_of_a_part_add_up():
    timer = PartTimer("cpu")
    for _ in range(2):
        with timer.measure("sleep"):
            time.sleep(0.02)
    with timer.measure("nothing"):
        pass
    assert timer.seconds["sleep"] >= 0.04 > timer.seconds["nothing"]
    assert timer.seconds.keys() == {"sleep", "nothing"}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_completes_its_work_within_the_measured_time():
    device = "cuda"
    x = torch.rand(4096, 4096, device=device)
    assert time_call(lambda: x @ x, device) > 0 and torch.cuda.current_stream().query()
