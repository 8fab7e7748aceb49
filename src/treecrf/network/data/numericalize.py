"""Numericalization: sentences, input tags and gold trees to batches of ids.

Features, also the class of a word's capital letters, are computed once per distinct word and cached. The rest is array
arithmetic.
"""

import sys
import threading
from collections.abc import Mapping, Sequence
from itertools import chain
from weakref import WeakKeyDictionary

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.batch import (
    BOS,
    EOS,
    IGNORED,
    PAD,
    SPECIAL,
    UNK,
    Batch,
    char_fields,
    ranges,
    sentence_lengths,
)
from treecrf.network.data.subwords import SubwordTokenizer, build_segments
from treecrf.network.data.vocabulary import Forest, GoldTree, Vocabulary
from treecrf.text.normalization import Normalization, normalizer
from treecrf.trees.treebank.word_table import TokenLines, WordTable

_NO_CASE, _LOWER, _CAPITALIZED, _UPPER, _INITIAL, _MIXED = range(6)
_CASED_CLASSES = 5  # all but the first
CAPITAL_CLASSES = 1 + 2 * _CASED_CLASSES  # cased words have other classes if they are the first of a sentence


def word_class(word: str) -> int:
    """The class of a word out of context; 0 if it has no letters with case.

    >>> [word_class(word) for word in ["42", "tree", "Tree", "NP", "I", "iPod"]]
    [0, 1, 2, 3, 4, 5]
    """
    if word.lower() == word.upper():
        return _NO_CASE
    if word.islower():
        return _LOWER
    if word.isupper():
        return _UPPER if len(word) > 1 else _INITIAL
    return _CAPITALIZED if word[0].isupper() and word[1:].islower() else _MIXED


def classes_in_context(word_classes: Ints) -> Ints:
    """The classes of the words of sentences, (b, n), from their classes out of context, which are 0 in padding.

    The first cased word of a sentence has another class than elsewhere, because sentences begin with a capital letter.
    If a sentence has no capitals, or nothing else, its capitals mean nothing, and its words have class 0.
    """
    has_capitals = (word_classes > _LOWER).any(1, keepdims=True)
    has_lower_case = np.isin(word_classes, (_LOWER, _CAPITALIZED, _MIXED)).any(1, keepdims=True)
    classes = np.where(has_capitals & has_lower_case, word_classes, _NO_CASE)
    sentences = np.arange(len(classes))
    first = (classes > _NO_CASE).argmax(1)
    classes[sentences, first] += np.where(classes[sentences, first] > _NO_CASE, _CASED_CLASSES, 0)
    return classes


_CHARS_PER_WORD = 20  # further characters of a word are dropped
_LONG_WORD = 10_000  # characters; longer words are not cached: they are no words, and take the memory of many
# a long stream has ever more distinct words, and the later ones rarely recur
_CACHE_BYTES = 1 << 25
_TABLE_WORDS, _TABLE_BYTES = 1 << 17, 1 << 25


class WordFeatures:
    """The features of distinct words: columns by the name of a feature, with `count` rows of words."""

    def __init__(self) -> None:
        self.count = 0
        self._columns: dict[str, Ints] = {}

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._columns.values())

    def append(self, features: Mapping[str, Ints]) -> None:
        """Adds the rows of further words."""
        for name, values in features.items():
            self._columns[name] = _append_rows(self._columns.get(name), self.count, values)
        self.count += len(features["words"])

    def select(self, rows: Ints) -> dict[str, Ints]:
        """The features of these words; start, end and padding come last."""
        features = {name: column[rows] for name, column in self._columns.items()}
        special = _special_features(features)
        return {name: np.concatenate([column, special[name]]) for name, column in features.items()}


class Numericalizer:
    """Turns sentences into batches with a vocabulary; threads may share it.

    `characters` and `capitals` say whether the model reads characters and capital letters, `subwords` is the tokenizer
    of its transformer, if any, and `normalization` is applied to every word first.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        characters: bool = True,
        capitals: bool = False,
        subwords: SubwordTokenizer | None = None,
        normalization: Normalization = "as-is",
    ) -> None:
        self.vocabulary = vocabulary
        self._characters = characters
        self._capitals = capitals
        self._subwords = subwords
        self._normalize = normalizer(normalization)
        self._lock = threading.Lock()
        first_id = len(SPECIAL)
        self._char_ids = {char: id_ for id_, char in enumerate(vocabulary.chars, first_id)}
        self._tag_ids = {tag: id_ for id_, tag in enumerate(vocabulary.tags, first_id)}
        self._word_table: WordTable | None = None
        self._table_features: WeakKeyDictionary[WordTable, WordFeatures] = WeakKeyDictionary()
        self._clear_cache()

    @property
    def segment_size(self) -> int:
        """The number of pieces that the model's transformer reads at once; 0 without a transformer."""
        return 0 if self._subwords is None else self._subwords.segment_size

    def word_table(self) -> WordTable:
        """The table of the words of lines, which is kept from one file to the next until it is large."""
        with self._lock:
            table = self._word_table
            if table is None or len(table) > _TABLE_WORDS or table.nbytes > _TABLE_BYTES:
                self._word_table = table = WordTable()
            return table

    def _clear_cache(self) -> None:
        self._cache_rows: dict[str, int] = {}
        self._cache = WordFeatures()
        self._cache_word_bytes = 0
        self._has_long_word = False

    def collate(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        tags: Sequence[Sequence[str | None]] | None = None,
        schemes: Sequence[int] | None = None,
        gold: Sequence[GoldTree] | None = None,
    ) -> Batch:
        """The batch of these sentences in their order, with input tags, schemes and gold trees if there are any."""
        lengths = sentence_lengths(sentences)
        if not len(lengths) or not lengths.all():
            problem = f"sentence {int(lengths.argmin())} has no words" if len(lengths) else "there are no sentences"
            raise ValueError(f"{problem}; expected at least one word in each sentence of a batch")
        rows, features = self._look_up(sentences)
        grid = _pad_sentences(rows, lengths, begin=-3, end=-2, padding=-1)  # the last three rows of every feature
        arrays: dict[str, Ints] = {"lengths": lengths, "words": features["words"][grid]}
        if self.vocabulary.vectors is not None:
            arrays["vectors"] = features["vectors"][grid]
        if tags is not None:
            arrays["tags"] = self._collate_tags(tags, lengths)
        if schemes is not None:
            arrays["schemes"] = np.array(schemes, dtype=np.int64)
        if self._capitals:
            arrays["capitals"] = classes_in_context(features["capitals"][grid[:, 1:-1]])
        if self._characters:
            arrays |= _collate_chars(features["chars"], features["char_lengths"], grid)
        if self._subwords is not None:
            arrays |= build_segments(features["pieces"], rows, features["piece_counts"][rows], lengths, self._subwords)
        if gold is not None:
            arrays |= _collate_gold(gold, lengths)
        unseen_labels = int((arrays["labels"] == IGNORED).sum()) if gold is not None else 0
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        return Batch(size=len(lengths), total_words=int(lengths.sum()), unseen_labels=unseen_labels, **contiguous)

    def input_lengths(self, sentences: Sequence[Sequence[str]]) -> list[int]:
        """The number of words of each sentence or, with a transformer, the number of subword pieces."""
        lengths = sentence_lengths(sentences)
        if self._subwords is None:
            return lengths.tolist()  # type: ignore[no-any-return]
        rows, features = self._look_up(sentences)
        return np.add.reduceat(features["piece_counts"][rows], np.cumsum(lengths) - lengths).tolist()  # type: ignore[no-any-return]

    def _look_up(self, sentences: Sequence[Sequence[str]]) -> tuple[Ints, dict[str, Ints]]:
        """The row of each word among the distinct words, and their features; start, end and padding come last."""
        with self._lock:
            if isinstance(sentences, TokenLines):
                features, word_rows = self._features_of_table(sentences.table), sentences.rows.astype(np.int64)
            else:
                features, word_rows = self._find_words(list(chain.from_iterable(sentences)))
            distinct, rows = _distinct_rows(word_rows)
            selected = features.select(distinct)
            if self._has_long_word:
                self._clear_cache()
        return rows, selected

    def _features_of_table(self, table: WordTable) -> WordFeatures:
        """The features of all words that a table has so far."""
        features = self._table_features.setdefault(table, WordFeatures())
        if words := table.words(features.count):
            features.append(self._compute_features(words))
        return features

    def _find_words(self, words: list[str]) -> tuple[WordFeatures, Ints]:
        """The features of cached words, and the row of each word; new words are added to the cache."""
        if self._cache_bytes() > _CACHE_BYTES:
            self._clear_cache()
        try:
            rows = self._find_cache_rows(words)
        except KeyError:
            self._add_to_cache(sorted(set(words).difference(self._cache_rows)))
            rows = self._find_cache_rows(words)
        return self._cache, rows

    def _find_cache_rows(self, words: list[str]) -> Ints:
        return np.fromiter(map(self._cache_rows.__getitem__, words), np.int64, len(words))

    def _add_to_cache(self, words: list[str]) -> None:
        first_row = self._cache.count
        self._cache.append(self._compute_features(words))
        self._cache_rows.update(zip(words, range(first_row, first_row + len(words)), strict=True))
        self._cache_word_bytes += sum(map(sys.getsizeof, words))
        self._has_long_word |= max(map(len, words)) > _LONG_WORD

    def _compute_features(self, words: Sequence[str]) -> dict[str, Ints]:
        normalized = list(map(self._normalize, words))
        ids = np.array([self.vocabulary.word_ids.get(word.lower(), UNK) for word in normalized], dtype=np.int64)
        features = {"words": np.where(ids < self.vocabulary.sizes.words, ids, UNK), "vectors": ids}
        if self._capitals:
            features["capitals"] = np.array(list(map(word_class, normalized)), dtype=np.int64)
        if self._characters:
            chars = [[self._char_ids.get(char, UNK) for char in word[:_CHARS_PER_WORD]] or [UNK] for word in normalized]
            features["chars"], features["char_lengths"] = _pad_rows(chars)
        if self._subwords is not None:
            features["pieces"], features["piece_counts"] = _pad_rows(self._subwords.split(normalized))
        return features

    def _cache_bytes(self) -> int:
        return self._cache_word_bytes + sys.getsizeof(self._cache_rows) + self._cache.nbytes

    def _collate_tags(self, tags: Sequence[Sequence[str | None]], lengths: Ints) -> Ints:
        for number, (sentence_tags, length) in enumerate(zip(tags, lengths, strict=True)):
            if len(sentence_tags) != length:
                raise ValueError(
                    f"sentence {number} has {length} words and {len(sentence_tags)} tags; expected a tag for each word"
                )
        ids = [self._tag_ids.get(tag or "", UNK) for tag in chain.from_iterable(tags)]
        return _pad_sentences(np.array(ids, dtype=np.int64), lengths, begin=BOS, end=EOS, padding=PAD)


def _distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct rows in the order in which they first occur, and the index of each row among them.

    The order of the row numbers would depend on the words of earlier batches, and a batch must not depend on them.
    """
    places = np.arange(len(rows))
    first_places = np.empty(rows.max() + 1, dtype=np.int64)  # by row number
    first_places[rows[::-1]] = places[::-1]
    origins = first_places[rows]
    is_first = origins == places
    return rows[is_first], (np.cumsum(is_first) - 1)[origins]


def _special_features(features: Mapping[str, Ints]) -> dict[str, Ints]:
    """The features of start, end and padding: one special character, and no piece, as segments add their own."""
    special = {name: np.zeros((3, *column.shape[1:]), np.int64) for name, column in features.items()}
    for name in special.keys() & {"words", "vectors"}:
        special[name][:] = [BOS, EOS, PAD]
    if "chars" in special:
        special["chars"][:2, 0] = [BOS, EOS]
        special["char_lengths"][:2] = 1
    return special


def _append_rows(column: Ints | None, used: int, values: Ints) -> Ints:
    """Writes values after the first `used` rows of a column; capacity doubles, so appending takes linear time."""
    if column is None or used + len(values) > len(column):
        larger = np.zeros((2 * (used + len(values)), *values.shape[1:]), dtype=np.int64)
        if column is not None:
            larger[:used] = column[:used]
        column = larger
    column[used : used + len(values)] = values
    return column


def _pad_rows(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """The rows, padded to (rows, _CHARS_PER_WORD), and their lengths; no word has more pieces than that."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    values = np.zeros((len(rows), _CHARS_PER_WORD), dtype=np.int64)
    values[np.arange(_CHARS_PER_WORD) < lengths[:, None]] = np.fromiter(
        chain.from_iterable(rows), np.int64, lengths.sum()
    )
    return values, lengths


def _pad_sentences(values: Ints, lengths: Ints, *, begin: int, end: int, padding: int) -> Ints:
    """The values of all words as padded sentences with a start and an end, (b, n + 2)."""
    grid = np.full((len(lengths), int(lengths.max()) + 2), padding, dtype=np.int64)
    grid.ravel()[ranges(np.arange(len(lengths)) * grid.shape[1] + 1, lengths)] = values
    grid[:, 0] = begin
    grid[np.arange(len(lengths)), lengths + 1] = end
    return grid


def _collate_chars(chars: Ints, lengths: Ints, grid: Ints) -> dict[str, Ints]:
    """The character fields of a batch; padding has no row of characters."""
    rows = np.where(grid == -1, 0, grid % len(lengths))
    return {"char_rows": rows, **char_fields(chars[:-1, : lengths.max()], lengths[:-1])}


def _collate_gold(gold: Sequence[GoldTree], lengths: Ints) -> dict[str, Ints]:
    for number, (tree, length) in enumerate(zip(gold, lengths, strict=True)):
        if len(tree.tags) != length:
            raise ValueError(f"sentence {number} has {length} words, its gold tree {len(tree.tags)}; expected the same")
    size = int(lengths.max()) + 1
    sentences = np.repeat(np.arange(len(lengths)), [len(tree.starts) for tree in gold])
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
        **_collate_forests([tree.forest for tree in gold], size),
    }


def _collate_forests(forests: Sequence[Forest | None], size: int) -> dict[str, Ints]:
    """The fields of gold forests; none if no sentence has one."""
    numbered = [(sentence, forest) for sentence, forest in enumerate(forests) if forest is not None]
    if not numbered:
        return {}
    first_rows = np.cumsum([0, *(len(forest.costs) for _, forest in numbered)])

    def cells(name: str) -> Ints:
        spans = [sentence * size**2 + getattr(forest, name) @ [size, 1] for sentence, forest in numbered]
        return np.concatenate(spans)

    return {
        "forest_cells": cells("spans"),
        "restricted_cells": cells("restricted"),
        "restricted_rows": np.concatenate(
            [first + forest.rows for first, (_, forest) in zip(first_rows, numbered, strict=False)]
        ),
        "label_costs": np.concatenate([forest.costs for _, forest in numbered]),
        "mean_cost": np.array([sum(forest.mean_cost for _, forest in numbered)], dtype=np.int64),
    }
