"""Features of constituents in decoded trees: the words and the symbols that a `ConstituentScorer` reads."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Ints
from treecrf.parser.decoding.constituents import Constituents, DecodedBatch

WORDS = ("first", "last", "before", "after", "head", "head of the parent", "head of the last child")
SYMBOLS = (
    *("label", "parent", "grandparent", "sibling before", "sibling after", "first child", "last child"),
    *("first sibling", "head", "head of the parent", "place"),
)
_SIDES, _RANKS = 3, 4  # before, around or after the parent's head; among the siblings


class Features(NamedTuple):
    """The features of m constituents."""

    words: Ints  # (m, WORDS) numbers of words; w is no word
    symbols: Ints  # (m, SYMBOLS) numbers below `Symbols.size`


class Symbols:
    """The numbers of the categories, tags and places in a model's trees."""

    def __init__(self, categories: Sequence[str], tags: Sequence[str]) -> None:
        self.tag_ids = {tag: len(categories) + 1 + number for number, tag in enumerate(tags)}
        self.categories = categories
        self.root = len(categories)
        self.unknown = self.root + len(tags) + 1  # a given tag that is not in the vocabulary
        self.none = self.unknown + 1
        self.places = self.none + 1
        self.size = self.places + _SIDES * _RANKS * 2

    def nodes(self, batch: DecodedBatch) -> Ints:
        """The symbols of all nodes, and of a missing node at the end, (m + w + 1,)."""
        tags = [self.tag_ids.get(tag, self.unknown) for tag in batch.tags]
        ids = batch.constituents.ids
        return np.concatenate([np.where(ids < 0, self.root, ids), tags, [self.none]]).astype(np.int64)

    def features(self, batch: DecodedBatch, rows: Ints) -> Features:
        """The features of these constituents of a batch."""
        trees = batch.constituents
        count, words = len(trees), trees.words
        node_heads = np.concatenate([batch.heads, np.arange(words), [words]])  # -1 is no node
        symbols = self.nodes(batch)
        parents = trees.parents[rows]
        safe_parents = np.where(parents < 0, 0, parents)
        grandparents = np.where(parents < 0, -1, trees.parents[safe_parents])
        before, after = (nodes[rows] for nodes in trees.siblings)
        nodes, firsts = trees.children
        first_siblings = np.where(parents < 0, -1, nodes[firsts[safe_parents]])
        first_children, last_children = nodes[firsts[rows]], nodes[firsts[rows + 1] - 1]
        starts, ends, heads, parent_heads = trees.starts[rows], trees.ends[rows], batch.heads[rows], node_heads[parents]
        sentences = trees.sentences[rows]
        ends_of_sentences = np.cumsum(trees.lengths)[sentences]
        starts_of_sentences = ends_of_sentences - trees.lengths[sentences]
        word_columns = [
            starts,
            ends - 1,
            np.where(starts > starts_of_sentences, starts - 1, words),
            np.where(ends < ends_of_sentences, ends, words),
            heads,
            parent_heads,
            node_heads[last_children],
        ]
        tag_symbols = symbols[count:]
        symbol_columns = [
            symbols[rows],
            *(symbols[nodes] for nodes in (parents, grandparents, before, after, first_children, last_children)),
            symbols[first_siblings],
            tag_symbols[heads],
            tag_symbols[parent_heads],
            self.places + self._place(trees, rows, parent_heads),
        ]
        return Features(np.stack(word_columns, 1), np.stack(symbol_columns, 1))

    def _place(self, trees: Constituents, rows: Ints, parent_heads: Ints) -> Ints:
        """The side of the parent's head, the number of siblings before, and whether the parent has the same words."""
        starts, ends, parents = trees.starts[rows], trees.ends[rows], trees.parents[rows]
        side = np.where(ends <= parent_heads, 0, np.where(starts > parent_heads, 2, 1))
        nodes = trees.children.nodes
        ranks = np.zeros(len(trees.parents), np.int64)
        ranks[nodes] = np.arange(len(nodes)) - trees.children.firsts[trees.parents[nodes]]
        rank = np.minimum(ranks[rows], _RANKS - 1)
        is_unary = (parents >= 0) & (starts == trees.starts[parents]) & (ends == trees.ends[parents])
        return (side * _RANKS + rank) * 2 + is_unary
