"""CUDA graphs of training steps, one for each batch shape.

A training step is some hundreds of small kernels. The host takes longer to launch them one by one than the GPU takes to
run them. A CUDA graph launches all kernels of a step at once.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.network.nn import SpanModel
from treecrf.network.nn.batch import TensorBatch
from treecrf.network.nn.bert import Bert
from treecrf.network.nn.lstm_recurrence import find_triton_kernels
from treecrf.training.config import TrainConfig
from treecrf.training.distributed import Processes

# arguments: a batch, and the counts that its losses are divided by
StepFunction = Callable[[TensorBatch, Tensor], object]


class _Graph(NamedTuple):
    """A captured CUDA graph and its input memory."""

    graph: torch.cuda.CUDAGraph
    batch: TensorBatch
    counts: Tensor


class CapturedStep:
    """Runs a training step for each batch: launches it for the first batch of a shape, and captures it for the second.

    Kernels are compiled at their first launch, and compilation cannot be captured.
    """

    def __init__(self, step: StepFunction, device: torch.device) -> None:
        self._step = step
        self._device = device
        self._graphs: dict[Hashable, _Graph | None] = {}
        self._memory_pool = torch.cuda.graph_pool_handle()  # shared by all graphs, because they never run at once

    def __call__(self, batch: TensorBatch, counts: tuple[int, int]) -> None:
        """Runs the step for a batch in pinned memory, without synchronizing the device."""
        if batch.shapes not in self._graphs:
            self._graphs[batch.shapes] = None
            self._step(batch.to(self._device), torch.tensor(counts, device=self._device))
            return
        graph = self._graphs[batch.shapes] or self._capture(batch)
        assert graph.batch.flat is not None and batch.flat is not None
        graph.batch.flat.copy_(batch.flat, non_blocking=True)
        for device_count, count in zip(graph.counts, counts, strict=True):
            device_count.fill_(count)
        graph.graph.replay()

    def _capture(self, batch: TensorBatch) -> _Graph:
        graph = _Graph(torch.cuda.CUDAGraph(), batch.to(self._device), torch.ones(2, device=self._device))
        # "thread_local", because the data loader's thread pins memory during the capture
        with torch.cuda.graph(graph.graph, pool=self._memory_pool, capture_error_mode="thread_local"):
            self._step(graph.batch, graph.counts)
        self._graphs[batch.shapes] = graph
        return graph


def can_capture_steps(config: TrainConfig, model: SpanModel, processes: Processes) -> bool:
    is_wanted = model.transformer is None if config.cuda_graphs is None else config.cuda_graphs
    is_one_part = processes.world_size == config.accumulate == 1
    return is_wanted and is_one_part and processes.device.type == "cuda" and _can_capture_model(model)


def _can_capture_model(model: SpanModel) -> bool:
    """Returns whether a model launches the same kernels for all batches of a shape: a CRF, our LSTM, our BERT.

    Forests differ in size, also among batches of one shape.
    """
    config, transformer = model.config, model.transformer
    is_known = config.is_built_in and config.loss in ("two-stage", "one-stage-crf")
    if not is_known or not (transformer is None or isinstance(transformer.encoder, Bert)):
        return False
    lstm_sizes = [config.lstm_size] * (config.encoder == "lstm")
    lstm_sizes += [config.char_size // 2] * (config.reads_words and config.char_size > 0)
    weight = next(model.parameters())
    return all(find_triton_kernels(weight, size) is not None for size in lstm_sizes)
