"""The parsing pipeline of a GPU, which computes while the host reads and writes.

The calling thread reads and encodes sentences and starts the computation of batches, because cuDNN plans its kernels
anew in each thread that starts them. Other threads wait for trees and build the results.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import torch

from treecrf.network.data.bucketing import Budget
from treecrf.network.nn import SpanModel, TensorScores
from treecrf.parser.decoding.device_decode import PendingTrees, decode_on_device, with_vectors
from treecrf.parser.decoding.schemes import Scheme
from treecrf.parser.pipeline import BatchDecoder, BatchingConfig, Sentences
from treecrf.trees.treebank.bracket_writer import FlatTrees

T = TypeVar("T")
K = TypeVar("K")


_BUILDERS = 2  # threads that build results


class _PendingBatch(NamedTuple, Generic[K, T]):
    """A batch that is being computed. It is empty if its window has no sentences."""

    key: K  # key of the window
    window: Sentences
    indices: list[int]  # indices of the sentences in their window
    results: Future[list[T]] | None
    is_last: bool  # whether it is the last batch of its window


@dataclass(frozen=True, kw_only=True)
class DeviceDecoder:
    """Decodes batches of sentences on a GPU; sentences with constraints or given tags on the host."""

    model: SpanModel
    host_decoder: BatchDecoder

    @torch.no_grad()
    def __call__(self, sentences: Sentences) -> PendingTrees:
        """Starts the computation of a batch's trees; a batch that does not fit into memory is decoded in halves."""
        host = self.host_decoder
        try:
            if not (sentences.has_constraints or sentences.has_tags):
                scores = _restrict(self.model.score_on_device(host.scorer.collate(sentences)), host.scorer.rules)
                pending = decode_on_device(scores, mbr=host.mbr, expected_f1=host.expected_f1)
                return with_vectors(pending, scores) if host.keeps_vectors else pending
            trees = host(sentences)
            return lambda: trees
        except torch.OutOfMemoryError as error:
            if len(sentences) == 1:
                raise ValueError(
                    f"a sentence of {len(sentences.words[0])} words does not fit into the GPU's memory; parse it on a "
                    "CPU (device='cpu'), or stop other programs that use the GPU"
                ) from error
        torch.cuda.empty_cache()
        middle, indices = len(sentences) // 2, range(len(sentences))
        halves = (sentences.select(indices[:middle]), sentences.select(indices[middle:]))
        both = FlatTrees.concatenate([self(half)() for half in halves])
        return lambda: both

    def decode_windows(
        self,
        windows: Iterable[tuple[K, Sentences]],
        build: Callable[[Sentences, FlatTrees], Iterable[T]],
        batching: BatchingConfig,
    ) -> Iterator[tuple[K, list[T]]]:
        """Decodes windows like `pipeline.decode_windows`, and reads `batching.prefetch` batches ahead."""
        results: dict[int, T] = {}
        with ThreadPoolExecutor(_BUILDERS) as builders:

            @torch.no_grad()  # the mode belongs to a thread
            def finish(sentences: Sentences, trees: PendingTrees) -> list[T]:
                return list(build(sentences, trees()))

            def start(sentences: Sentences) -> Future[list[T]]:
                return builders.submit(finish, sentences, self(sentences))

            for batch in prefetch(_start_batches(windows, start, batching.budget), batching.prefetch):
                if batch.results is not None:
                    results.update(zip(batch.indices, batch.results.result(), strict=True))
                if batch.is_last:
                    yield batch.key, [results[index] for index in range(len(batch.window))]
                    results = {}


def _start_batches(
    windows: Iterable[tuple[K, Sentences]], start: Callable[[Sentences], Future[list[T]]], budget: Budget
) -> Iterator[_PendingBatch[K, T]]:
    for key, window in windows:
        batches = window.batches(budget)
        for number, indices in enumerate(batches, 1):
            yield _PendingBatch(key, window, indices, start(window.select(indices)), number == len(batches))
        if not batches:
            yield _PendingBatch(key, window, [], None, True)


def _restrict(scores: TensorScores, scheme: Scheme | None) -> TensorScores:
    """The scores without the labels and tags that a scheme does not have."""
    if scheme is None:
        return scores
    labels, tags = (torch.from_numpy(offsets).to(scores.spans.device) for offsets in (scheme.labels, scheme.tags))
    return replace(scores, label_offsets=labels, tags=None if scores.tags is None else scores.tags + tags)


def prefetch(items: Iterable[T], count: int) -> Iterator[T]:
    """The same items in the same order, each after `count` more have been computed."""
    waiting: deque[T] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting
