import time

import pytest
import torch

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser.benchmark import (
    PartTimer,
    device_name,
    measure_speed,
    median_seconds,
    random_sentences,
    time_call,
    time_runs,
)

WORDS = [f"word{number}" for number in range(50)]


def test_random_sentences_are_the_same_for_the_same_words() -> None:
    sentences = random_sentences(WORDS, 300)
    assert sentences == random_sentences(WORDS, 300) and len(sentences) == 300
    lengths = [len(sentence) for sentence in sentences]
    assert 1 <= min(lengths) < 10 and 50 < max(lengths) <= 100
    assert 20 < sum(lengths) / 300 < 28
    words = [word for sentence in sentences for word in sentence]
    counts = sorted(map(words.count, WORDS), reverse=True)
    assert set(words) == set(WORDS) and counts[0] > 4 * counts[-1]


def test_the_speed_is_measured_on_all_sentences_and_on_a_short_one() -> None:
    speed = measure_speed(random_parser(toy_trees(20)), sentences=3, repeats=1, mbr=True)
    assert speed.sentences == 3 and speed.words >= 3
    assert speed.batch_seconds > 0 and speed.latency_seconds > 0


def test_a_processor_has_a_name() -> None:
    assert device_name("cpu").strip()


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
