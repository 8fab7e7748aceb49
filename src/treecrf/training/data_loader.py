"""Training data on its way to the device: which sentences each step reads, and the next steps' batches made ahead."""

import hashlib
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import torch

from treecrf.data.bucketing import Budget, Indices, buckets, shuffled_batches
from treecrf.data.numericalize import Numericalizer
from treecrf.data.padding import pad_to, padded_shape
from treecrf.data.vocabulary import Gold, Vocabulary
from treecrf.nn import Batch
from treecrf.tree import Tree

T = TypeVar("T")

_AHEAD = 4  # steps whose batches are ready before they are asked for


class Step(NamedTuple):
    """What one step of the optimizer reads: this process's parts, and the counts of the whole over all processes."""

    sentences: int
    words: int
    labelled: int
    parts: list[tuple[int, Batch]]  # with the number of each part in the whole


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Training sentences with their trees in numbers."""

    words: list[list[str]]
    tags: list[list[str]]
    gold: list[Gold]
    lengths: list[int]

    @staticmethod
    def encode(trees: Iterable[Tree], vocabulary: Vocabulary, *, side: Literal["left", "right"] = "left") -> "Corpus":
        """The trees, binarized to a side, as the vocabulary numbers them, once for the whole run."""
        trees = list(trees)
        words = [tree.words for tree in trees]
        return Corpus(
            words=words,
            tags=[tree.tags for tree in trees],
            gold=[vocabulary.gold(tree, side=side) for tree in trees],
            lengths=[len(sentence) for sentence in words],
        )


@dataclass(frozen=True, kw_only=True)
class DataLoader:
    """The steps of every epoch. They follow from the seed alone, however many processes share them."""

    corpus: Corpus
    encoder: Numericalizer
    budget: Budget
    seed: int
    weights: Sequence[float] | None = None  # how often an epoch has each sentence, on average; once where not given
    lowercase: float = 0.0  # the share of sentences that are read in lower case
    accumulate: int = 1
    rank: int = 0
    world: int = 1
    read_tags: bool = False
    pin_memory: bool = False
    alike: bool = False  # whether batches of a bucket are filled up to one shape

    def epoch(self, number: int) -> list[list[int]]:
        """The sentences of each batch of an epoch."""
        generator = torch.Generator().manual_seed(mix_seed(self.seed, "epoch", number))
        groups = self._buckets if self.weights is None else self._weighted(self.weights, generator)
        return shuffled_batches(self.corpus.lengths, groups, budget=self.budget, generator=generator)

    def _weighted(self, weights: Sequence[float], generator: torch.Generator) -> list[Indices]:
        """The buckets, with each sentence as often as its weight says; what is left of a whole number is drawn."""
        counts = (np.asarray(weights) + torch.rand(len(weights), generator=generator).numpy()).astype(int)
        groups = [np.repeat(bucket, counts[bucket]) for bucket in self._buckets]
        return [group for group in groups if len(group)]

    @cached_property
    def _buckets(self) -> list[Indices]:
        return buckets(self.encoder.sizes(self.corpus.words))

    @cached_property
    def _bucket_of(self) -> dict[int, Indices]:
        """The bucket of each sentence, with all in it as often as an epoch may have them."""
        groups = self._buckets
        if self.weights is not None:
            counts = np.ceil(self.weights).astype(int)
            groups = [np.repeat(group, counts[group]) for group in groups]
        return {int(member): group for group in groups for member in group}

    def steps(self, batches: Sequence[list[int]]) -> Iterator[Step]:
        """The steps of these batches, made ahead of use in a thread of their own."""
        return ahead(map(self._step, batches), _AHEAD)

    def _step(self, members: list[int]) -> Step:
        lowered = self._lowered(members)
        words = sum(self.corpus.lengths[member] for member in members)
        count = -(-max(self.accumulate, self.world) // self.world) * self.world
        numbers = range(self.rank, min(count, len(members)), self.world)
        return Step(
            sentences=len(members),
            words=words,
            labelled=2 * words - len(members),
            parts=[(number, self._batch(members[number::count], lowered[number::count])) for number in numbers],
        )

    def _lowered(self, members: list[int]) -> list[bool]:
        """Which sentences of a batch are read in lower case: drawn from the seed and the batch itself."""
        if not self.lowercase:
            return [False] * len(members)
        generator = torch.Generator().manual_seed(mix_seed(self.seed, "lowercase", *members))
        return [draw < self.lowercase for draw in torch.rand(len(members), generator=generator).tolist()]

    def _batch(self, members: list[int], lowered: list[bool]) -> Batch:
        corpus = self.corpus
        words = (corpus.words[member] for member in members)
        batch = self.encoder.collate(
            [list(map(str.lower, given)) if low else given for given, low in zip(words, lowered, strict=True)],
            tags=[corpus.tags[member] for member in members] if self.read_tags else None,
            gold=[corpus.gold[member] for member in members],
        )
        if self.alike:
            bucket = self._bucket_of[members[0]]
            room = padded_shape(batch, bucket, corpus.lengths, cells=self.budget.cells, window=self.encoder.window)
            batch = pad_to(batch, room)
        return batch.pin_memory() if self.pin_memory else batch


def mix_seed(*parts: int | str) -> int:
    """One seed from several, so that no two places in a run draw the same numbers."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=7).digest(), "big")


def ahead(items: Iterable[T], number: int) -> Iterator[T]:
    """The same items, up to `number` of them made before they are asked for; an error comes where its item would."""
    ready: queue.Queue[tuple[bool, T | BaseException | None]] = queue.Queue(number)
    stopped = threading.Event()

    def make() -> None:
        try:
            for item in items:
                if not _offer(ready, (True, item), stopped):
                    return
            _offer(ready, (False, None), stopped)
        except BaseException as error:
            _offer(ready, (False, error), stopped)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            more, item = ready.get()
            if not more:
                if isinstance(item, BaseException):
                    raise item
                return
            yield item  # type: ignore[misc]  # what is not the end is an item
    finally:
        stopped.set()
        thread.join()


def _offer(ready: "queue.Queue[T]", item: T, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        try:
            ready.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False
