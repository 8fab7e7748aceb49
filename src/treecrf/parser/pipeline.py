"""The parsing pipeline: windows of sentences to batches, batches to trees, and trees back into input order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from treecrf.network.data.batch import Batch
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.scores import Scores
from treecrf.parser.decoding import Decoded, ExpectedF1, decode
from treecrf.parser.decoding.constraints import apply_constraints
from treecrf.parser.inputs import BatchingConfig, Sentences
from treecrf.parser.loading import Scorer
from treecrf.threads import num_threads, parallel_map
from treecrf.trees.treebank.binarize import LabelSet

T = TypeVar("T")
K = TypeVar("K")

PendingTrees = Callable[[], Decoded]  # waits for the trees of a batch and returns them


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """Scores batches of sentences: strings to arrays, arrays to scores, and the constraints of each sentence."""

    numericalizer: Numericalizer
    scorer: Scorer
    labels: LabelSet
    root: str

    def __call__(self, sentences: Sentences) -> Scores:
        """The scores of a batch, given the constraints."""
        scores = self.scorer.score(self.collate(sentences)).check_finite()
        if not sentences.has_constraints:
            return scores
        assert sentences.constraints is not None
        return apply_constraints(scores, sentences.constraints, self.labels, self.root, numbers=sentences.numbers)

    def collate(self, sentences: Sentences) -> Batch:
        """The ids of sentences, and of their tags if the network reads tags."""
        # SentenceReader has checked that tags are there if the network reads them
        tags = cast("Sequence[Sequence[str]]", sentences.tags) if self.scorer.config.tag_size else None
        return self.numericalizer.collate(sentences.model_words, tags=tags)


@dataclass(frozen=True, kw_only=True)
class BatchDecoder:
    """Decodes batches of sentences: scores them and finds their best trees."""

    scorer: BatchScorer
    mbr: bool
    expected_f1: ExpectedF1 | None

    def __call__(self, sentences: Sentences) -> PendingTrees:
        """The trees of a batch, on the host."""
        decoded = decode(self.scorer(sentences), mbr=self.mbr, expected_f1=self.expected_f1)
        return lambda: decoded


@dataclass(frozen=True)
class DecodedBatch(Generic[K]):
    """A batch that is being computed. It is empty if its window has no sentences."""

    key: K  # of its window
    sentences: Sentences
    trees: PendingTrees | None
    indices: list[int]  # of the sentences in their window
    window_size: int
    is_last: bool  # of its window


def decode_windows(
    windows: Iterable[tuple[K, Sentences]],
    decoder: Callable[[Sentences], PendingTrees],
    batching: BatchingConfig,
    *,
    in_parallel: bool,
    initialize: Callable[[], None] | None = None,
) -> Iterator[DecodedBatch[K]]:
    """The batches of each window; a window is a pair of a key and sentences.

    With `in_parallel`, each thread decodes batches of its own, after it has called `initialize` once.
    """
    threads = num_threads() if in_parallel else 1
    for key, window in windows:
        batches = window.batches(batching.budget, threads=threads)
        selected = list(map(window.select, batches))
        if min(threads, len(selected)) > 1:
            pending: Iterable[PendingTrees] = parallel_map(decoder, selected, initialize=initialize)
        else:
            pending = map(decoder, selected)
        for number, (indices, sentences, trees) in enumerate(zip(batches, selected, pending, strict=True), 1):
            yield DecodedBatch(key, sentences, trees, indices, len(window), number == len(batches))
        if not batches:
            yield DecodedBatch(key, window, None, [], 0, True)


def in_input_order(
    batches: Iterable[DecodedBatch[K]], build: Callable[[Sentences, Decoded], Iterable[T]]
) -> Iterator[tuple[K, list[T]]]:
    """The key of each window, and what `build` makes of each sentence's tree, in the order of the sentences."""
    built: dict[int, T] = {}
    for batch in batches:
        if batch.trees is not None:
            built.update(zip(batch.indices, build(batch.sentences, batch.trees()), strict=True))
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
