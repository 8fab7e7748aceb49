"""Tests of data-parallel training; `tests/cli/test_train.py` starts several processes."""

import pytest
import torch
import torch.distributed as dist

from treecrf.training.distributed import Processes, join_processes

CPU = torch.device("cpu")


def test_one_process_is_the_first_and_sends_nothing() -> None:
    with join_processes("cpu") as processes:
        assert processes.is_first and processes.world_size == 1 and processes.device == CPU
        tensor = torch.tensor([1.0, 2.0])
        processes.all_reduce([tensor])
        processes.broadcast([tensor])
        assert tensor.tolist() == [1.0, 2.0] and processes.broadcast_scalar(0.1) == 0.1


def test_tensors_of_several_shapes_are_exchanged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def double(flat: torch.Tensor) -> None:
        sizes.append(flat.numel())
        flat *= 2

    monkeypatch.setattr(dist, "all_reduce", double)
    tensors = [torch.ones(2, 3), torch.tensor(4.0), torch.zeros(0)]
    Processes(device=CPU, world_size=2).all_reduce(tensors)
    assert sizes == [7] and tensors[0].tolist() == [[2.0] * 3] * 2 and float(tensors[1]) == 8


def test_a_lost_connection_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: torch.Tensor, src: int) -> None:
        raise RuntimeError("Connection closed by peer\nand more")

    monkeypatch.setattr(dist, "broadcast", fail)
    with pytest.raises(ConnectionError, match=r"process 2 of 2 lost the connection .*\(Connection closed by peer\)"):
        Processes(device=CPU, rank=1, world_size=2).broadcast_scalar(1.0)


def test_every_process_needs_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="process 2 on this machine has no GPU: there are 1"), join_processes("cuda"):
        pass
