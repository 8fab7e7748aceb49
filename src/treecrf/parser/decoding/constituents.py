"""Constituents of a batch of trees as arrays, and the brackets of full trees.

Components that add functions and empty elements to decoded trees read `DecodedBatch` and return labels and `Empty`s.
All words of a batch are numbered one after the other, and so are its constituents, parents before children.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Floats, Ints, Mask
from treecrf.trees.notation import leaf_text, opening, penn_brackets
from treecrf.trees.placed_nodes import place_nodes
from treecrf.trees.search.heads import HeadRules, find_heads
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import unary_chain
from treecrf.trees.treebank.bracket_writer import FlatTrees

_MAX_CACHED = 64  # characters: long words repeat too rarely, and their number is not limited
_cached_leaf_text = lru_cache(maxsize=1 << 15)(leaf_text)
_cached_opening = lru_cache(maxsize=1 << 12)(opening)


class LabelChains:
    """The categories in the span labels of a model: a label is the chain of constituents over a span."""

    def __init__(self, labels: Sequence[str]) -> None:
        chains = list(map(unary_chain, labels))
        self.categories = tuple(sorted(set(chain.from_iterable(chains))))
        ids = {name: number for number, name in enumerate(self.categories)}
        self.counts = np.array([len(names) for names in chains])
        self.firsts = np.cumsum(self.counts) - self.counts
        self.members = np.array([ids[name] for names in chains for name in names], np.int64)
        self.rootless = np.array([not label for label in labels])  # over a sentence of one word


@dataclass(frozen=True, kw_only=True)
class Constituents:
    """The m constituents of b trees with w words, parents before children, left to right.

    `categories` has the name of each category id; -1 is the root. A node is a constituent, or m plus the number of a
    word. A sentence of one word may have no constituents.
    """

    categories: Sequence[str]
    root: str
    lengths: Ints  # (b,) words of each sentence
    ids: Ints  # (m,) category ids
    starts: Ints  # (m,) first word
    ends: Ints  # (m,) word after the last one

    @staticmethod
    def of(trees: FlatTrees, lengths: Ints, labels: LabelChains, root: str) -> "Constituents":
        """The constituents of decoded trees, whose label ids belong to `labels`."""
        offsets = np.cumsum(lengths) - lengths
        shifts = np.repeat(offsets, 2 * lengths - 1)
        counts = labels.counts[trees.labels]
        spans = np.repeat(np.arange(len(counts)), counts)
        depths = np.arange(len(spans)) - np.repeat(np.cumsum(counts) - counts, counts)
        has_root = np.ones(len(lengths), np.bool_)
        (single,) = np.nonzero(lengths == 1)
        has_root[single] = ~labels.rootless[trees.labels[(np.cumsum(2 * lengths - 1) - 1)[single]]]
        starts = np.concatenate([offsets[has_root], (trees.starts + shifts)[spans]])
        ends = np.concatenate([(offsets + lengths)[has_root], (trees.ends + shifts)[spans]])
        ids = np.concatenate([np.full(has_root.sum(), -1), labels.members[labels.firsts[trees.labels[spans]] + depths]])
        depths = np.concatenate([np.full(has_root.sum(), -1), depths])
        order = np.lexsort((depths, -ends, starts))
        return Constituents(
            categories=labels.categories,
            root=root,
            lengths=lengths,
            ids=ids[order],
            starts=starts[order],
            ends=ends[order],
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def labels(self) -> list[str]:
        """The category of each constituent."""
        names = [*self.categories, self.root]  # the last one for -1
        return [names[category] for category in self.ids.tolist()]

    @cached_property
    def words(self) -> int:
        return int(self.lengths.sum())

    @cached_property
    def sentences(self) -> Ints:
        """The sentence of each constituent, (m,)."""
        return np.searchsorted(np.cumsum(self.lengths), self.starts, "right")

    def has_category(self, name: str) -> Mask:
        """The nodes that are constituents of a category, (m + w,)."""
        number = self.categories.index(name) if name in self.categories else len(self.categories)
        return np.concatenate([self.ids == number, np.zeros(self.words, np.bool_)])

    @cached_property
    def node_starts(self) -> Ints:
        """The first word of each node, (m + w,)."""
        return np.concatenate([self.starts, np.arange(self.words)])

    @cached_property
    def parents(self) -> Ints:
        """The parent of each node, (m + w,); -1 for the root of a tree."""
        # nodes before it that have begun, without those that have ended: the number of its ancestors
        begun = np.concatenate([np.arange(len(self)), np.searchsorted(self.starts, np.arange(self.words), "right")])
        depths = begun - np.searchsorted(np.sort(self.ends), self.node_starts, "right")
        width = len(self) + 1
        keys = np.sort(depths[: len(self)] * width + np.arange(len(self)))
        # the last constituent before the node that has one ancestor less
        places = np.searchsorted(keys, (depths - 1) * width + begun) - 1
        return np.where(depths > 0, keys[places] % width if len(keys) else -1, -1)

    @cached_property
    def children(self) -> "Children":
        """The children of all constituents."""
        order = np.lexsort((np.arange(len(self.parents)), self.node_starts, self.parents))
        order = order[np.searchsorted(self.parents[order], 0) :]  # without roots
        firsts = np.searchsorted(self.parents[order], np.arange(len(self) + 1))
        return Children(nodes=order, firsts=firsts)

    @cached_property
    def siblings(self) -> tuple[Ints, Ints]:
        """The nodes before and after each node that have the same parent, (m + w,) each; -1 if there is none."""
        nodes, parents = self.children.nodes, self.parents[self.children.nodes]
        before, after = (np.full(len(self.parents), -1) for _ in range(2))
        is_pair = parents[1:] == parents[:-1]
        before[nodes[1:][is_pair]] = nodes[:-1][is_pair]
        after[nodes[:-1][is_pair]] = nodes[1:][is_pair]
        return before, after

    def child_at(self, constituent: int, position: int) -> int:
        """The child node of a constituent that begins at a position."""
        children = self.children.of(constituent)
        starts = self.node_starts[children]
        place = int(np.searchsorted(starts, position))
        if place == len(starts) or starts[place] != position:
            raise ValueError(f"no child of {self.labels[constituent]!r} begins at word {position} of the batch")
        return int(children[place])

    def heads(self, tags: Sequence[str], rules: HeadRules) -> Ints:
        """The head word of each constituent, (m,), by the rules of `Tree.heads`; words have these tags."""
        labels = [*self.categories, self.root, *sorted(set(tags))]
        tag_ids = {tag: number for number, tag in enumerate(labels) if number > len(self.categories)}
        # the nodes of trees in pre-order, with tags and with words below them
        words, ids = np.arange(self.words), np.where(self.ids < 0, len(self.categories), self.ids)
        tag_places = np.searchsorted(self.starts, words, "right") + 2 * words
        places = np.concatenate([np.arange(len(self)) + 2 * self.starts, tag_places, tag_places + 1])
        label_ids, ends = np.zeros((2, len(places)), np.int32)
        label_ids[places[: len(self) + self.words]] = [*ids.tolist(), *map(tag_ids.__getitem__, tags)]
        ends[places[: len(self)]] = np.searchsorted(self.starts, self.ends) + 2 * self.ends
        ends[tag_places] = ends[tag_places + 1] = tag_places + 2
        heads = np.frombuffer(find_heads(label_ids.tobytes(), ends.tobytes(), labels, rules), np.int32)
        heads = np.where(heads < 0, np.arange(len(heads)), heads)
        while not np.array_equal(heads, below := heads[heads]):
            heads = below
        return np.searchsorted(tag_places, heads[places[: len(self)]] - 1)


class Children(NamedTuple):
    """`nodes[firsts[c] : firsts[c + 1]]` are the children of constituent c, left to right."""

    nodes: Ints
    firsts: Ints  # (m + 1,)

    def of(self, constituent: int) -> Ints:
        """The child nodes of a constituent."""
        return self.nodes[self.firsts[constituent] : self.firsts[constituent + 1]]


@dataclass(frozen=True, kw_only=True)
class DecodedBatch:
    """Decoded trees with everything that a component reads which adds functions or empty elements to them."""

    constituents: Constituents
    words: Sequence[str]  # (w,) of all sentences
    tags: Sequence[str]  # (w,)
    vectors: Floats  # (w, d) the vector of each word in context, from the network
    rules: HeadRules

    @cached_property
    def heads(self) -> Ints:
        """The head word of each constituent, (m,)."""
        return self.constituents.heads(self.tags, self.rules)


class FullTrees(NamedTuple):
    """Full trees in parts: their constituents with words, the labels of these, and their empty elements."""

    constituents: Constituents
    labels: list[str]  # (m,) with functions and indices
    empties: "list[Empty]"

    @staticmethod
    def of(trees: Iterable[Tree], categories: Sequence[str]) -> "FullTrees":
        """The parts of trees; a label that is not among the categories has the root's id.

        >>> tree = Tree.parse("(S (NP-SBJ-1 (PRP We)) (VP (VBP try) (S (-NONE- *PRO*-1))))")
        >>> full = FullTrees.of([tree], ["NP", "VP"])
        >>> full.labels, full.empties
        (['S', 'NP-SBJ-1', 'VP'], [Empty(constituent=2, position=2, brackets='(S (-NONE- *PRO*-1))')])
        """
        category_ids = {name: number for number, name in enumerate(categories)}
        rows: list[tuple[int, int, int]] = []
        labels: list[str] = []
        lengths: list[int] = []
        empties: list[Empty] = []
        words, root = 0, ""
        for tree in trees:
            before, numbers = words, {}
            for node in place_nodes(tree):
                start, end = before + node.start, before + node.end
                if start < end and not node.tree.is_leaf:
                    numbers[node] = len(labels)
                    labels.append(node.tree.label)
                    rows.append((category_ids.get(node.tree.category, -1), start, end))
                elif start == end and node.parent in numbers:
                    empties.append(Empty(numbers[node.parent], start, str(node.tree)))
                words = max(words, end)
            lengths.append(words - before)
            root = tree.label
        ids, starts, ends = np.array(rows, np.int64).reshape(-1, 3).T
        constituents = Constituents(
            categories=categories, root=root, lengths=np.array(lengths), ids=ids, starts=starts, ends=ends
        )
        return FullTrees(constituents, labels, empties)


class Empty(NamedTuple):
    """An empty element, or a constituent with one, to insert into a constituent.

    `position` is the number of words of the batch before it: a child of the constituent begins or ends there. Several
    empty elements at one place stand in the order of their list.
    """

    constituent: int
    position: int
    brackets: str  # such as "(NP-SBJ (-NONE- *-1))"


def _leaf_text(tag: str, word: str) -> str:
    return (_cached_leaf_text if len(tag) + len(word) < _MAX_CACHED else leaf_text)(tag, word)


def full_lines(
    batch: DecodedBatch, labels: Sequence[str], empties: Iterable[Empty] = (), *, exact: bool = True
) -> Iterator[str]:
    """The brackets of each tree with these labels of its constituents, and with empty elements.

    >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP try)))")
    >>> constituents = FullTrees.of([tree], ["NP", "VP"]).constituents
    >>> columns = {"words": tree.words, "tags": tree.tags, "vectors": np.zeros((2, 0))}
    >>> batch = DecodedBatch(constituents=constituents, rules=HeadRules({}, ()), **columns)
    >>> print(*full_lines(batch, ["S", "NP-SBJ-1", "VP"], [Empty(2, 2, "(S (-NONE- *PRO*-1))")]))
    (S (NP-SBJ-1 (PRP We)) (VP (VBP try) (S (-NONE- *PRO*-1))))
    """
    constituents = batch.constituents
    count, words = len(constituents), np.arange(constituents.words)
    texts = [*map(_cached_opening, labels), *map(_leaf_text, batch.tags, batch.words), *[")"] * count]
    _insert(texts, constituents, empties)
    numbers = np.arange(count)
    # at one position: first the ends of constituents, then the beginnings from the outermost one on, then the word
    keys = [2 * constituents.starts + 1, 2 * words + 1, 2 * constituents.ends]
    ranks = [numbers, np.full(len(words), count), count - 1 - numbers]
    order = np.argsort(np.concatenate(keys) * (count + 1) + np.concatenate(ranks))
    pieces = [texts[index] for index in order.tolist()]
    sizes = constituents.lengths + 2 * np.bincount(constituents.sentences, minlength=len(constituents.lengths))
    first = 0
    for size in sizes.tolist():
        line = "".join(pieces[first : first + size])[1:]
        yield line if exact else penn_brackets(line)
        first += size


def _insert(texts: list[str], constituents: Constituents, empties: Iterable[Empty]) -> None:
    """Adds the brackets of empty elements to the texts of nodes, and of the ends of constituents."""
    end_of_first, words = len(constituents), constituents.words
    before: dict[int, str] = {}
    for constituent, position, brackets in empties:
        start, end = int(constituents.starts[constituent]), int(constituents.ends[constituent])
        if position == start:
            texts[constituent] += f" {brackets}"
        elif position == end:
            place = end_of_first + words + constituent
            texts[place] = f"{texts[place][:-1]} {brackets})"
        else:
            node = constituents.child_at(constituent, position)
            before[node] = f"{before.get(node, '')} {brackets}"
    for node, text in before.items():
        texts[node] = text + texts[node]
