"""Tests of the number of threads of a training run."""

import pytest
import torch

from treecrf.training.threads import ThreadTuner, restored_threads, thread_counts


class Machine:
    """A machine on which a step with 100 words takes as long as the speed with each number of threads says."""

    def __init__(self, speeds: dict[int, float]) -> None:
        self.speeds = speeds  # words per second
        self.threads = 0
        self.seconds = 0.0
        self.tuner = ThreadTuner(list(speeds), set_threads=self.set_threads, clock=lambda: self.seconds)

    def set_threads(self, count: int) -> None:
        self.threads = count

    def train(self, steps: int) -> int:
        for _ in range(steps):
            with self.tuner.step(100):
                self.seconds += 100 / self.speeds[self.threads]
        return self.threads


@pytest.mark.parametrize("speeds", [{1: 100.0, 2: 7.0}, {1: 100.0, 2: 180.0}])
def test_the_fastest_number_of_threads_is_chosen(speeds: dict[int, float]) -> None:
    assert Machine(speeds).train(15) == max(speeds, key=speeds.__getitem__)


def test_the_choice_changes_when_another_job_starts() -> None:
    machine = Machine({1: 100.0, 2: 190.0})
    assert machine.train(20) == 2
    machine.speeds[2] = 10.0
    assert machine.train(30) == 1


def test_a_number_that_the_user_has_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    for name in ("OMP_NUM_THREADS", "TREECRF_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert thread_counts(device="cpu", world_size=1) == [1, 4, 8]
    assert thread_counts(device="cuda", world_size=1) == thread_counts(device="cpu", world_size=2) == [8]
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert thread_counts(device="cpu", world_size=1) == [8]


def test_the_number_of_threads_is_restored() -> None:
    before = torch.get_num_threads()
    with restored_threads():
        torch.set_num_threads(before + 1)
    assert torch.get_num_threads() == before
