"""Several processes that train one model: who this process is, and how it adds its numbers to the others'.

`torchrun` starts the processes and tells them of each other. Started without it, there is one, and nothing is sent.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Processes:
    """This process among all of them."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the one process that writes files."""
        return self.rank == 0

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors of one type by their sums over the processes."""
        if self.world == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        with self._company():
            dist.all_reduce(flat)
        _scatter(flat, tensors)

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors of one type by those of the first process."""
        if self.world == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        with self._company():
            dist.broadcast(flat, src=0)
        _scatter(flat, tensors)

    def broadcast_scalar(self, value: float) -> float:
        """The value that the first process has."""
        if self.world == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self.device)
        with self._company():
            dist.broadcast(shared, src=0)
        return float(shared)

    @contextmanager
    def _company(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise ConnectionError(
                f"process {self.rank + 1} of {self.world} lost another one, which failed or was ended; "
                f"its own message says why ({str(error).splitlines()[0]})"
            ) from error


def _scatter(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    parts = torch.split(flat, [tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


@contextmanager
def join_processes(device: str | None = None) -> Iterator[Processes]:
    """Meet the processes that `torchrun` started with this one; the device is one GPU each, if there is one."""
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    place = _place(device)
    if world == 1:
        yield Processes(device=place)
        return
    on_gpu = place.type == "cuda"
    if on_gpu:
        torch.cuda.set_device(place)
    dist.init_process_group("nccl" if on_gpu else "gloo", device_id=place if on_gpu else None)
    yield Processes(rank=rank, world=world, device=place)
    dist.barrier()  # else a thread of gloo's may still hold a tensor when its interpreter is gone, which aborts
    dist.destroy_process_group()  # not where something failed: it would wait for processes that are gone


def _place(device: str | None) -> torch.device:
    if device not in (None, "cuda"):
        return torch.device(device)
    if device is None and not torch.cuda.is_available():
        return torch.device("cpu")
    number, gpus = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if number >= gpus:
        raise ValueError(
            f"process {number + 1} on this machine has no GPU, as there are {gpus}; start one process a GPU"
        )
    return torch.device("cuda", number)
