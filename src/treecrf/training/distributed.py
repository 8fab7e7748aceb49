"""Data-parallel training: the rank of this process, and sums and broadcasts over all processes.

`torchrun` starts the processes and sets their ranks in the environment. Without it there is one process, and nothing is
sent.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Processes:
    """The processes of a training run, seen from one of them."""

    device: torch.device
    rank: int = 0
    world_size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files."""
        return self.rank == 0

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Replaces tensors of one dtype by their sums over the processes."""
        self._exchange(tensors, dist.all_reduce)

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Replaces tensors of one dtype by the tensors of the first process."""
        self._exchange(tensors, partial(dist.broadcast, src=0))

    def broadcast_scalar(self, value: float) -> float:
        tensor = torch.tensor([value], dtype=torch.float64, device=self.device)
        self.broadcast([tensor])
        return float(tensor)

    def _exchange(self, tensors: Sequence[Tensor], operation: Callable[[Tensor], object]) -> None:
        if self.world_size == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        try:
            operation(flat)
        except RuntimeError as error:
            raise ConnectionError(
                f"process {self.rank + 1} of {self.world_size} lost the connection to another process, which failed or "
                f"was killed; see the error message of that process ({str(error).splitlines()[0]})"
            ) from error
        for tensor, part in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))


@contextmanager
def join_processes(device: str | None = None) -> Iterator[Processes]:
    """Connects this process to the others that `torchrun` started; with GPUs, each process has a different one."""
    rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    own_device = _choose_device(device)
    if world_size == 1:
        yield Processes(device=own_device)
        return
    is_gpu = own_device.type == "cuda"
    if is_gpu:
        torch.cuda.set_device(own_device)
    dist.init_process_group("nccl" if is_gpu else "gloo", device_id=own_device if is_gpu else None)
    yield Processes(rank=rank, world_size=world_size, device=own_device)
    dist.barrier()  # without it, a gloo thread may still hold a tensor when the interpreter exits, which aborts
    dist.destroy_process_group()  # not after an error: it would wait for processes that no longer exist


def _choose_device(device: str | None) -> torch.device:
    if device not in (None, "cuda"):
        return torch.device(device)
    if device is None and not torch.cuda.is_available():
        return torch.device("cpu")
    local_rank, gpus = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if local_rank >= gpus:
        raise ValueError(
            f"process {local_rank + 1} on this machine has no GPU: there are {gpus}; start one process per GPU"
        )
    return torch.device("cuda", local_rank)
