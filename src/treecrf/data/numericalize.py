"""Sentences as batches: each distinct word is looked up once, and everything else is arithmetic on arrays."""

import threading
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from treecrf.data.batch import BOS, EOS, IGNORED, PAD, SPECIAL, UNK, Batch
from treecrf.data.subwords import SubwordTokenizer, windows
from treecrf.data.vocabulary import Gold, Ints, Vocabulary
from treecrf.text.normalization import Normalization, normalizer

_CHARS_PER_WORD = 20  # a longer word is known by its beginning
_REMEMBERED = 200_000  # distinct words; a long stream has ever more, and few of the later ones come again


class Numericalizer:
    """A vocabulary, and what it says of every word met so far; safe to share between threads.

    `characters` says whether the network spells words, `pieces` how its transformer, if it has one, cuts them, `forms`
    how it reads them in the first place.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        characters: bool = True,
        subwords: SubwordTokenizer | None = None,
        normalization: Normalization = "as-is",
    ) -> None:
        self.vocabulary = vocabulary
        self._characters = characters
        self._subwords = subwords
        self._read = normalizer(normalization)
        self._lock = threading.Lock()
        first = len(SPECIAL)
        known = (*vocabulary.words, *(vocabulary.vectors or ()))
        self._word_ids = {word: id_ for id_, word in enumerate(known, first)}
        self._char_ids = {char: id_ for id_, char in enumerate(vocabulary.chars, first)}
        self._input_tags = {tag: id_ for id_, tag in enumerate(vocabulary.tags, first)}
        self._forget()

    @property
    def window(self) -> int:
        """How many pieces the network's transformer reads at once; 0 where it has none."""
        return 0 if self._subwords is None else self._subwords.window

    def _forget(self) -> None:
        self._rows: dict[str, int] = {}
        self._table: dict[str, Ints] = {}

    def collate(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        tags: Sequence[Sequence[str]] | None = None,
        gold: Sequence[Gold] | None = None,
    ) -> Batch:
        """The batch of some sentences, in their order: their words, and perhaps given tags and gold trees."""
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        if not len(lengths) or not lengths.all():
            what = f"sentence {int(lengths.argmin())} has no words" if len(lengths) else "there are no sentences"
            raise ValueError(f"{what}; expected at least one word in each sentence of a batch")
        rows, features = self._look_up(list(chain.from_iterable(sentences)))
        grid = _grid(rows, lengths, begin=-3, end=-2, padding=-1)  # the last rows of each feature
        parts: dict[str, Ints] = {"lengths": lengths, "host_lengths": lengths, "words": features["words"][grid]}
        if self.vocabulary.vectors is not None:
            parts["vectors"] = features["vectors"][grid]
        if tags is not None:
            parts["tags"] = self._given_tags(tags, lengths)
        if self._characters:
            parts |= _spellings(features["chars"], features["char_lengths"], grid)
        if self._subwords is not None:
            parts |= windows(features["pieces"][rows], features["piece_lengths"][rows], lengths, self._subwords)
        if gold is not None:
            parts |= _gold(gold, lengths)
        return _batch(parts, lengths)

    def sizes(self, sentences: Sequence[Sequence[str]]) -> list[int]:
        """How much there is to read in each sentence: its words, or the pieces that a transformer has of them."""
        lengths = [len(sentence) for sentence in sentences]
        if self._subwords is None:
            return lengths
        rows, features = self._look_up(list(chain.from_iterable(sentences)))
        starts = np.cumsum([0, *lengths[:-1]])
        return np.add.reduceat(features["piece_lengths"][rows], starts).tolist()  # type: ignore[no-any-return]

    def _look_up(self, words: list[str]) -> tuple[Ints, dict[str, Ints]]:
        """Which of the distinct words each word is, and their features; those of start, end and padding come last."""
        with self._lock:
            if len(self._rows) > _REMEMBERED:
                self._forget()
            try:
                rows = self._known(words)
            except KeyError:
                self._meet(sorted(set(words).difference(self._rows)))
                rows = self._known(words)
            distinct, which = _distinct(rows)
            features = {name: column[distinct] for name, column in self._table.items()}
        special = _special_features(features)
        return which, {name: np.concatenate([column, special[name]]) for name, column in features.items()}

    def _known(self, words: list[str]) -> Ints:
        return np.fromiter(map(self._rows.__getitem__, words), np.int64, len(words))

    def _meet(self, words: list[str]) -> None:
        forms = list(map(self._read, words))
        ids = np.array([self._word_ids.get(form.lower(), UNK) for form in forms], dtype=np.int64)
        features = {"words": np.where(ids < self.vocabulary.sizes.words, ids, UNK), "vectors": ids}
        if self._characters:
            spelled = [[self._char_ids.get(char, UNK) for char in form[:_CHARS_PER_WORD]] or [UNK] for form in forms]
            features["chars"], features["char_lengths"] = _rectangle(spelled)
        if self._subwords is not None:
            features["pieces"], features["piece_lengths"] = _rectangle(self._subwords.split(forms))
        used = len(self._rows)
        for name, values in features.items():
            self._table[name] = _grown(self._table.get(name), used, values)
        self._rows.update(zip(words, range(used, used + len(words)), strict=True))

    def _given_tags(self, tags: Sequence[Sequence[str]], lengths: Ints) -> Ints:
        for number, (given, length) in enumerate(zip(tags, lengths, strict=True)):
            if len(given) != length:
                raise ValueError(
                    f"sentence {number} has {length} words and {len(given)} tags; expected a tag for each word"
                )
        ids = [self._input_tags.get(tag, UNK) for tag in chain.from_iterable(tags)]
        return _grid(np.array(ids, dtype=np.int64), lengths, begin=BOS, end=EOS, padding=PAD)


def _distinct(rows: Ints) -> tuple[Ints, Ints]:
    """The different numbers, as they first occur, and which of them stands at each place.

    Not in the order of rows: that depends on what was met before, and a batch must not.
    """
    places = np.arange(len(rows))
    first = np.empty(rows.max() + 1, dtype=np.int64)  # where each number first occurs
    first[rows[::-1]] = places[::-1]
    origins = first[rows]
    is_first = origins == places
    return rows[is_first], (np.cumsum(is_first) - 1)[origins]


def _special_features(features: Mapping[str, Ints]) -> dict[str, Ints]:
    """The features of start, end and padding: a character of their own, and no piece, as the windows have those."""
    special = {name: np.zeros((3, *column.shape[1:]), np.int64) for name, column in features.items()}
    for name in special.keys() & {"words", "vectors"}:
        special[name][:] = [BOS, EOS, PAD]
    if "chars" in special:
        special["chars"][:2, 0] = [BOS, EOS]
        special["char_lengths"][:2] = 1
    return special


def _rectangle(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    values = np.zeros((len(rows), _CHARS_PER_WORD), dtype=np.int64)
    values[np.arange(_CHARS_PER_WORD) < lengths[:, None]] = np.fromiter(
        chain.from_iterable(rows), np.int64, lengths.sum()
    )
    return values, lengths


def _grown(column: Ints | None, used: int, values: Ints) -> Ints:
    """The column with values after its first `used` rows; room doubles, so that growing takes linear time."""
    if column is None or used + len(values) > len(column):
        larger = np.zeros((2 * (used + len(values)), *values.shape[1:]), dtype=np.int64)
        if column is not None:
            larger[:used] = column[:used]
        column = larger
    column[used : used + len(values)] = values
    return column


def _grid(values: Ints, lengths: Ints, *, begin: int, end: int, padding: int) -> Ints:
    """Words' values as padded sentences with a start and an end, (b, n + 2)."""
    grid = np.full((len(lengths), int(lengths.max()) + 2), padding, dtype=np.int64)
    grid[:, 1:-1][np.arange(lengths.max()) < lengths[:, None]] = values
    grid[:, 0] = begin
    grid[np.arange(len(lengths)), lengths + 1] = end
    return grid


def _spellings(chars: Ints, lengths: Ints, grid: Ints) -> dict[str, Ints]:
    """The distinct words' characters, and which of the words stands at each position; padding is not spelled."""
    chars, lengths, padding = chars[:-1, : lengths.max()], lengths[:-1], len(lengths) - 1
    starts = np.arange(len(lengths)) * chars.shape[1]
    return {
        "spellings": np.where(grid == -1, 0, grid % (padding + 1)),
        "chars": chars,
        "char_lengths": lengths,
        "host_char_lengths": lengths,
        "char_ends": np.stack([2 * (starts + lengths - 1), 2 * starts + 1], 1),
    }


def _gold(gold: Sequence[Gold], lengths: Ints) -> dict[str, Ints]:
    for number, (tree, length) in enumerate(zip(gold, lengths, strict=True)):
        if len(tree.tags) != length:
            raise ValueError(f"sentence {number} has {length} words, its gold tree {len(tree.tags)}; expected the same")
    size = int(lengths.max()) + 1
    sentences = np.repeat(np.arange(len(lengths)), 2 * lengths - 1)
    starts = np.concatenate([tree.starts for tree in gold])
    ends = np.concatenate([tree.ends for tree in gold])
    tags = np.full((len(lengths), size - 1), IGNORED, dtype=np.int64)
    tags[np.arange(size - 1) < lengths[:, None]] = np.concatenate([tree.tags for tree in gold])
    lefts = sentences * size + starts
    return {
        "cells": lefts * size + ends,
        "lefts": lefts,
        "rights": sentences * size + ends,
        "labels": np.concatenate([tree.labels for tree in gold]),
        "gold_tags": tags,
    }


def _batch(parts: Mapping[str, Ints], lengths: Ints) -> Batch:
    tensors: dict[str, Tensor] = {name: torch.from_numpy(np.ascontiguousarray(part)) for name, part in parts.items()}
    unseen = int((parts["labels"] == IGNORED).sum()) if "labels" in parts else 0
    return Batch(size=len(lengths), total_words=int(lengths.sum()), unseen_labels=unseen, **tensors)
