"""Steps of training on a GPU, recorded once for each shape of batch and then played again.

A step is some hundreds of small kernels, and to launch them one by one takes the host longer than they run. Recorded,
as a CUDA graph, they are launched at once.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.data.batch import Batch

Work = Callable[[Batch, Tensor], object]  # a batch and the counts that its losses are divided by


class Tape(NamedTuple):
    """A recorded step, and the memory that it reads."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    counts: Tensor


class Recorder:
    """Does the same work for every batch: launched the first time that a shape comes, recorded the second."""

    def __init__(self, work: Work, device: torch.device) -> None:
        self._work = work
        self._device = device
        self._tapes: dict[Hashable, Tape | None] = {}
        self._memory = torch.cuda.graph_pool_handle()  # of all tapes: they are never played at once

    def __call__(self, batch: Batch, counts: tuple[int, int]) -> None:
        """Do the work for a batch in pinned memory; nothing waits for the device."""
        if batch.shapes not in self._tapes:  # kernels are compiled, which cannot be recorded
            self._tapes[batch.shapes] = None
            self._work(batch.to(self._device), torch.tensor(counts, device=self._device))
            return
        tape = self._tapes[batch.shapes] or self._record(batch)
        assert tape.batch.flat is not None and batch.flat is not None
        tape.batch.flat.copy_(batch.flat, non_blocking=True)
        for place, count in zip(tape.counts, counts, strict=True):
            place.fill_(count)
        tape.graph.replay()

    def _record(self, batch: Batch) -> Tape:
        tape = Tape(torch.cuda.CUDAGraph(), batch.to(self._device), torch.ones(2, device=self._device))
        # other threads pin memory meanwhile
        with torch.cuda.graph(tape.graph, pool=self._memory, capture_error_mode="thread_local"):
            self._work(tape.batch, tape.counts)
        self._tapes[batch.shapes] = tape
        return tape
