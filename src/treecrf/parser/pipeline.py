"""The parsing pipeline: windows of sentences to batches, batches to trees, and trees back into input order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import torch
from torch import Tensor

from treecrf.chart.threads import parallel_map
from treecrf.data.batch import Batch
from treecrf.data.numericalize import Numericalizer
from treecrf.decoding import Decoded, ExpectedF1, PendingDecoded, decode
from treecrf.decoding.constraints import apply_constraints
from treecrf.nn import Scores
from treecrf.parser.inputs import BatchingConfig, Sentences
from treecrf.treebank.binarize import LabelSet

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """Scores batches of sentences: strings to arrays, arrays to scores, and the constraints of each sentence."""

    numericalizer: Numericalizer
    scorer: Callable[[Batch], Scores]
    labels: LabelSet
    root: str
    device: torch.device
    reads_tags: bool  # the model has tags as input

    @torch.no_grad()
    def __call__(self, sentences: Sentences) -> tuple[Scores, Tensor | None]:
        """The scores given the constraints, and the chart of allowed spans if some are not allowed."""
        # SentenceReader has checked that tags are there if the model reads them
        tags = cast("Sequence[Sequence[str]]", sentences.tags) if self.reads_tags else None
        batch = self.numericalizer.collate(sentences.model_words, tags=tags)
        if self.device.type == "cuda":
            batch = batch.pin_memory()
        scores: Scores = self.scorer(batch.to(self.device))
        if sentences.constraints is None or not any(sentences.constraints):
            return scores, None
        return apply_constraints(scores, sentences.constraints, self.labels, self.root, numbers=sentences.numbers)


@dataclass(frozen=True, kw_only=True)
class BatchDecoder:
    """Decodes batches of sentences: scores them and finds their best trees."""

    scorer: BatchScorer
    mbr: bool
    expected_f1: ExpectedF1 | None

    @torch.no_grad()
    def __call__(self, sentences: Sentences) -> PendingDecoded:
        """The trees of a batch; a batch that does not fit into the GPU's memory is decoded in halves."""
        try:
            scores, allowed = self.scorer(sentences)
            return decode(scores, mbr=self.mbr, expected_f1=self.expected_f1, allowed=allowed).copy_to_host()
        except torch.OutOfMemoryError as error:
            if len(sentences) == 1:
                raise ValueError(
                    f"a sentence of {len(sentences.words[0])} words does not fit into the GPU's memory; parse it on a "
                    "CPU (device='cpu'), or stop other programs that use the GPU"
                ) from error
        torch.cuda.empty_cache()
        middle, indices = len(sentences) // 2, range(len(sentences))
        halves = (sentences.select(indices[:middle]), sentences.select(indices[middle:]))
        return Decoded.concatenate([self(half).wait() for half in halves]).copy_to_host()


@dataclass(frozen=True)
class DecodedBatch(Generic[K]):
    """A batch that the device works on. It is empty if its window has no sentences."""

    key: K  # of its window
    sentences: Sentences
    decoded: PendingDecoded | None
    indices: list[int]  # of the sentences in their window
    window_size: int
    is_last: bool  # of its window


def decode_windows(
    windows: Iterable[tuple[K, Sentences]], decoder: BatchDecoder, batching: BatchingConfig, *, threads: int
) -> Iterator[DecodedBatch[K]]:
    """The batches of each window; a window is a pair of a key and sentences. Each thread decodes its own batches."""
    for key, window in windows:
        batches = window.batches(batching.budget, threads=threads)
        selected = list(map(window.select, batches))
        decoded = map(decoder, selected) if min(threads, len(selected)) <= 1 else parallel_map(decoder, selected)
        for number, (indices, sentences, pending) in enumerate(zip(batches, selected, decoded, strict=True), 1):
            yield DecodedBatch(key, sentences, pending, indices, len(window), number == len(batches))
        if not batches:
            yield DecodedBatch(key, window, None, [], 0, True)


def in_input_order(
    batches: Iterable[DecodedBatch[K]], build: Callable[[Sentences, Decoded], Iterable[T]]
) -> Iterator[tuple[K, list[T]]]:
    """The key of each window, and what `build` makes of each sentence's tree, in the order of the sentences."""
    built: dict[int, T] = {}
    for batch in batches:
        if batch.decoded is not None:
            built.update(zip(batch.indices, build(batch.sentences, batch.decoded.wait()), strict=True))
        if batch.is_last:
            yield batch.key, [built[index] for index in range(batch.window_size)]
            built = {}


def prefetch(items: Iterable[T], count: int) -> Iterator[T]:
    """The same items in the same order, each after `count` more have been computed."""
    waiting: deque[T] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting
