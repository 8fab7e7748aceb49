"""The data loader: chooses the sentences of each training step, and collates batches in a background thread."""

import hashlib
import math
import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar, cast

import numpy as np
import torch

from treecrf.network.data.batch import Batch
from treecrf.network.data.bucketing import BucketSize, Budget, Indices, buckets, pad_to, padded_shape, shuffled_batches
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.vocabulary import GoldTree, Vocabulary
from treecrf.network.nn.batch import TensorBatch
from treecrf.training.conditions import Conditions, Told
from treecrf.training.partial import PartialTree, derivations
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import LabelSet

T = TypeVar("T")

_PREFETCH_STEPS = 4


class StepBatch(NamedTuple):
    """The batch of one optimizer step: the counts of the whole batch, and this process's parts of it."""

    sentences: int
    words: int
    labeled_spans: int
    parts: list[tuple[int, TensorBatch]]  # each with its number in the whole batch


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Training sentences with their binarized gold trees as label ids."""

    words: list[list[str]]
    tags: list[list[str]]  # tags of full trees
    gold: list[GoldTree]
    lengths: list[int]

    @staticmethod
    def from_trees(
        trees: Iterable[Tree],
        vocabulary: Vocabulary,
        *,
        side: Literal["left", "right"] = "left",
        marginalize: bool = False,
        partial: Sequence[PartialTree] = (),
        partial_share: float = 0.0,
        is_share_known: bool = True,
        root: str = "TOP",
    ) -> "Corpus":
        """Binarizes trees to the left or right and looks up their labels, once for the whole run.

        `partial_share` is the share of the constituents of `partial` that have brackets, or a guess.

        With `marginalize`, the target of a tree is the forest of its derivations, binarized in any way.
        """
        trees, labels = list(trees), LabelSet(vocabulary.labels)
        gold = [vocabulary.encode_tree(tree, side=side) for tree in trees]
        if marginalize:
            forests = (derivations(tree, labels) for tree in trees)
            gold = [GoldTree.of_forest(forest, tree.tags) for forest, tree in zip(forests, gold, strict=True)]
        words = [*(tree.words for tree in trees), *(sentence.words for sentence in partial)]
        gold += [
            sentence.encode(vocabulary, labels, root, share=partial_share, is_share_known=is_share_known)
            for sentence in partial
        ]
        return Corpus(
            words=words,
            tags=[tree.tags for tree in trees],
            gold=gold,
            lengths=[len(sentence) for sentence in words],
        )

    def collate(
        self,
        words: Sequence[list[str]],
        indices: list[int],
        numericalizer: Numericalizer,
        *,
        read_tags: bool,
        told: Sequence[Told] | None = None,
    ) -> Batch:
        """Returns the batch of the sentences with these indices, whose words may be lower-cased, and what is told."""
        tags: Sequence[Sequence[str | None]] | None = [self.tags[index] for index in indices] if read_tags else None
        schemes = None
        if told is not None:
            tags, schemes = [each.tags for each in told], [each.scheme for each in told]
        gold = [self.gold[index] for index in indices]
        batch = numericalizer.collate(words, tags=tags, schemes=schemes, gold=gold)
        return replace(batch, sentence_ids=np.array(indices, dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class DataLoader:
    """The batches of every epoch. They follow from the seed, and do not depend on the number of processes."""

    corpus: Corpus
    numericalizer: Numericalizer
    budget: Budget
    seed: int
    weights: Sequence[float] | None = None  # how often an epoch has each sentence, on average; None: once
    lowercase: float = 0.0  # the share of sentences that are converted to lower case
    conditions: Conditions | None = None  # what the network is told
    accumulate: int = 1
    rank: int = 0
    world_size: int = 1
    read_tags: bool = False
    pin_memory: bool = False
    fixed_shapes: bool = False  # batches of a bucket are padded to one shape

    def epoch_batches(self, epoch: int) -> list[list[int]]:
        """Returns the sentence indices of each batch of an epoch."""
        generator = torch.Generator().manual_seed(mix_seed(self.seed, "epoch", epoch))
        groups = self._buckets if self.weights is None else self._weighted_buckets(self.weights, generator)
        return shuffled_batches(
            self.corpus.lengths,
            groups,
            budget=self.budget,
            permute=lambda size: torch.randperm(size, generator=generator).numpy(),
        )

    def _weighted_buckets(self, weights: Sequence[float], generator: torch.Generator) -> list[Indices]:
        """Repeats each sentence of the buckets by its weight, whose fraction is rounded up or down at random.

        The sentences of a bucket are as many in all epochs, or one more. Batches then have few shapes.
        """
        groups = []
        for bucket in self._buckets:
            members = bucket[torch.randperm(len(bucket), generator=generator).numpy()]
            whole, fractions = np.divmod(np.asarray(weights)[members], 1)
            offset = float(torch.rand((), generator=generator))
            rounded = np.diff(np.floor(fractions.cumsum() + offset), prepend=0)
            groups.append(np.repeat(members, (whole + rounded).astype(int)))
        return [group for group in groups if len(group)]

    @cached_property
    def _buckets(self) -> list[Indices]:
        return buckets(self.numericalizer.input_lengths(self.corpus.words))

    @cached_property
    def _bucket_sizes(self) -> dict[int, BucketSize]:
        """The size of each sentence's bucket."""
        lengths = np.asarray(self.corpus.lengths)
        weights = np.ones(len(lengths)) if self.weights is None else np.asarray(self.weights)
        lengths = np.where(weights > 0, lengths, 0)
        sizes = [BucketSize(math.ceil(weights[each].sum()), int(lengths[each].max())) for each in self._buckets]
        return {index: size for bucket, size in zip(self._buckets, sizes, strict=True) for index in bucket.tolist()}

    def steps(self, batches: Sequence[list[int]]) -> Iterator[StepBatch]:
        """Yields the batches with these sentence indices, collated in advance in a background thread."""
        return prefetch_in_thread(map(self.collate, batches), _PREFETCH_STEPS)

    def collate(self, indices: list[int]) -> StepBatch:
        """Returns the batch with these sentence indices, divided among processes and accumulation parts."""
        is_lowercase, told = self._draw_lowercase(indices), self._draw_conditions(indices)
        words = sum(self.corpus.lengths[index] for index in indices)
        part_count = -(-max(self.accumulate, self.world_size) // self.world_size) * self.world_size
        numbers = range(self.rank, min(part_count, len(indices)), self.world_size)

        def collate_part(number: int) -> TensorBatch:
            rows = slice(number, None, part_count)
            return self._collate_part(indices[rows], is_lowercase[rows], None if told is None else told[rows])

        return StepBatch(
            sentences=len(indices),
            words=words,
            labeled_spans=max(1, sum(len(self.corpus.gold[index].starts) for index in indices)),
            parts=[(number, collate_part(number)) for number in numbers],
        )

    def _draw_lowercase(self, indices: list[int]) -> list[bool]:
        """Draws whether each sentence is converted to lower case, from the seed and the batch."""
        if not self.lowercase:
            return [False] * len(indices)
        generator = torch.Generator().manual_seed(mix_seed(self.seed, "lowercase", *indices))
        return [draw < self.lowercase for draw in torch.rand(len(indices), generator=generator).tolist()]

    def _draw_conditions(self, indices: list[int]) -> list[Told] | None:
        """Draws what the network is told about each sentence, from the seed and the batch."""
        if self.conditions is None:
            return None
        chance = random.Random(mix_seed(self.seed, "conditions", *indices))
        return [self.conditions.draw(index, chance) for index in indices]

    def _collate_part(
        self, indices: list[int], is_lowercase: list[bool], told: list[Told] | None = None
    ) -> TensorBatch:
        corpus = self.corpus
        read = [corpus.words[index] for index in indices] if told is None else [each.words for each in told]
        sentences = [
            [word.lower() for word in words] if lower else words
            for words, lower in zip(read, is_lowercase, strict=True)
        ]
        batch = corpus.collate(sentences, indices, self.numericalizer, read_tags=self.read_tags, told=told)
        if self.fixed_shapes:
            bucket = self._bucket_sizes[indices[0]]
            shape = padded_shape(batch, bucket, cells=self.budget.cells, segment_size=self.numericalizer.segment_size)
            batch = pad_to(batch, shape)
        return TensorBatch.from_host(batch, pin_memory=self.pin_memory)


def mix_seed(*parts: int | str) -> int:
    """Returns one seed for several numbers and strings, so that no two uses in a run draw the same numbers."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=7).digest(), "big")


def prefetch_in_thread(items: Iterable[T], count: int) -> Iterator[T]:
    """Yields the same items, with up to `count` of them computed in advance in a thread.

    An error is raised at the place of its item. The thread ends when the iterator is closed.
    """
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1) as executor:
        try:
            waiting = deque(executor.submit(next, iterator, end) for _ in range(count))
            while (item := waiting.popleft().result()) is not end:
                waiting.append(executor.submit(next, iterator, end))
                yield cast(T, item)
        finally:
            executor.shutdown(cancel_futures=True)
