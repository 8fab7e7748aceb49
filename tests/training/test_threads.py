"""Tests of the number of threads of a training run."""

import pytest
import torch

from treecrf.training.threads import ThreadTuner, restored_threads, thread_counts


class Machine:
    """A machine on which a step with 100 words takes as long as the speed with each number of threads says.

    `free_share` is the share of the time in which the first thread has a processor.
    """

    def __init__(self, speeds: dict[int, float], *, free_share: float = 1.0) -> None:
        self.speeds = speeds  # words per second
        self.free_share = free_share
        self.threads = 0
        self.seconds = self.cpu_seconds = 0.0
        self.tuner = ThreadTuner(
            list(speeds),
            set_threads=self.set_threads,
            clock=lambda: self.seconds,
            cpu_clock=lambda: self.cpu_seconds,
        )

    def set_threads(self, count: int) -> None:
        self.threads = count

    def train(self, steps: int) -> list[int]:
        """The numbers of threads of some steps."""
        counts: list[int] = []
        for _ in range(steps):
            with self.tuner.step(100):
                seconds = 100 / self.speeds[self.threads]
                self.seconds += seconds
                self.cpu_seconds += seconds * self.free_share
            counts.append(self.threads)
        return counts


@pytest.mark.parametrize(("speeds", "best"), [({1: 100, 2: 7}, 1), ({1: 100, 2: 180}, 2), ({1: 100, 2: 105}, 1)])
def test_more_threads_are_used_if_they_are_clearly_faster(speeds: dict[int, float], best: int) -> None:
    assert Machine(speeds).train(20)[-1] == best


def test_slow_numbers_of_threads_are_tried_once_in_a_trial() -> None:
    assert Machine({1: 100.0, 2: 7.0}).train(20).count(2) == 1


def test_more_threads_are_not_tried_if_one_has_to_wait() -> None:
    assert set(Machine({1: 10.0, 2: 1.0}, free_share=0.5).train(50)) == {1}


def test_the_choice_follows_other_jobs() -> None:
    machine = Machine({1: 100.0, 2: 190.0})
    assert machine.train(20)[-1] == 2
    machine.free_share = 0.4
    assert set(machine.train(80)[-20:]) == {1}
    machine.free_share = 1.0
    assert 2 in machine.train(80)[-20:]


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
