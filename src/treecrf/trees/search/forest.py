"""Trees as flat arrays: nodes in pre-order, with the end of each subtree, parents and label ids.

The words are nodes below their preterminals, with their text as label, as in Tregex.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from treecrf.files import Source
from treecrf.trees.notation import EMPTY, unescape
from treecrf.trees.search import compiled
from treecrf.trees.search.heads import COLLINS, HeadRules, Int32Array, find_heads
from treecrf.trees.search.labels import Label, basic_category
from treecrf.trees.tree import Tree, build_unchecked, parse_trees
from treecrf.trees.treebank import read_trees

# columns of int32: label ids, ends, parents, previous, last children and starts; and the labels
FlatArrays = tuple[Any, ...]


class Forest:
    """Many trees in flat arrays, for searching.

    Each node has its label id, the end of its subtree, its parent, the sister before it (`previous`) and its last
    child; -1 means none. `starts` has the first node of each tree, and the number of nodes at its end.

    >>> forest = Forest([Tree.parse("(S (NP (PRP We)) (VP (VBP parse)))")])
    >>> [forest.labels[index] for index in forest.label_ids]
    ['S', 'NP', 'PRP', 'We', 'VP', 'VBP', 'parse']
    >>> forest.ends.tolist()
    [7, 4, 4, 4, 7, 7, 7]
    """

    def __init__(
        self, trees: Iterable[Tree] | Tree, *, head_rules: HeadRules = COLLINS, columns: FlatArrays | None = None
    ) -> None:
        """Flattens trees, or takes the columns of trees that are flat."""
        *self.columns, self.labels = columns or flatten([trees] if isinstance(trees, Tree) else list(trees))
        arrays: list[Int32Array] = [np.frombuffer(column, dtype=np.int32) for column in self.columns]
        self.label_ids, self.ends, self.parents, self.previous, self.last_children, self.starts = arrays
        self.head_rules = head_rules
        self.label_tables: dict[Label, bytes] = {}  # remembered results of labels in patterns

    @classmethod
    def parse(cls, text: str, *, head_rules: HeadRules = COLLINS) -> "Forest":
        """Reads the trees of a text in brackets; much faster than by way of `Tree` objects."""
        # `parse_trees` is lazy, and raises if the text has an error
        return cls(parse_trees(text), head_rules=head_rules, columns=parse_columns(text))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def label_index(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.labels)}

    @cached_property
    def basic_ids(self) -> Int32Array:
        """The number of the basic category of each label."""
        return _number([basic_category(label) for label in self.labels])[0]

    @cached_property
    def is_word(self) -> npt.NDArray[np.bool_]:
        """Whether each node is a word; empty elements are not."""
        empty = self.label_index.get(EMPTY, -1)
        is_leaf: npt.NDArray[np.bool_] = self.ends == np.arange(1, len(self.ends) + 1)
        is_leaf &= self.label_ids[self.parents] != empty
        return is_leaf

    @cached_property
    def words_before(self) -> Int32Array:
        """The number of words before each node, and of all words."""
        return np.concatenate([[0], np.cumsum(self.is_word)]).astype(np.int32)

    @cached_property
    def head_column(self) -> bytes:
        return find_heads(self.columns[0], self.columns[1], self.labels, self.head_rules)

    @property
    def heads(self) -> Int32Array:
        """The head child of each node by the forest's head rules, or -1 at a word."""
        return np.frombuffer(self.head_column, dtype=np.int32)

    def tree_of(self, node: int) -> int:
        """The number of the tree that contains a node."""
        return int(np.searchsorted(self.starts, node, side="right")) - 1

    def subtree(self, node: int) -> Tree | str:
        """The constituent at a node, or the word."""
        end = int(self.ends[node])
        labels: list[str] = [self.labels[index] for index in self.label_ids[node:end].tolist()]
        ends: list[int] = (self.ends[node:end] - node).tolist()
        subtrees: list[Tree | str] = []  # finished, from right to left
        for position in range(len(labels) - 1, -1, -1):
            children = []
            child = position + 1
            while child < ends[position]:
                children.append(subtrees.pop())
                child = ends[child]
            subtrees.append(build_unchecked(labels[position], tuple(children)) if children else labels[position])
        return subtrees[0]

    def words(self, node: int) -> tuple[int, int]:
        """The span of a node: the numbers of its first word and of the word after its last one, within its tree."""
        first, start, end = self.words_before[[self.starts[self.tree_of(node)], node, self.ends[node]]].tolist()
        return start - first, end - first


def flatten(trees: list[Tree]) -> FlatArrays:
    return compiled.matcher.flatten(trees, Tree) if compiled.matcher else flatten_in_python(trees)


def parse_columns(text: str) -> FlatArrays | None:
    """Reads brackets into the arrays of a forest; None without compiled code, and if the text has an error."""
    columns = compiled.matcher.parse(text.encode("utf-8", "surrogatepass")) if compiled.matcher else None
    if columns is None or not any("\\u{" in label for label in columns[-1]):
        return columns
    label_ids, *others, labels = columns
    new_ids, new_labels = _number([unescape(label) for label in labels])  # two spellings of a label get one id
    return new_ids[np.frombuffer(label_ids, dtype=np.int32)].tobytes(), *others, new_labels


def _number(values: Iterable[str]) -> tuple[Int32Array, list[str]]:
    """Numbers the distinct values, and returns the number of each value and the distinct values."""
    ids: dict[str, int] = {}
    numbers = [ids.setdefault(value, len(ids)) for value in values]
    return np.array(numbers, dtype=np.int32), list(ids)


def read_forests(source: Source, *, batch_trees: int = 2000, head_rules: HeadRules = COLLINS) -> Iterator[Forest]:
    """Reads the trees of a file in batches: a path, an open stream, or "-" for standard input.

    Reads the formats of `read_trees`, with the same errors.
    """
    reader = read_trees(source)
    texts = reader.texts()
    while batch := list(islice(texts, batch_trees)):
        trees = (tree for first, text in batch for tree in reader.parse(first, text))
        yield Forest(trees, head_rules=head_rules, columns=parse_columns("".join(text for _, text in batch)))


def head_positions(tree: Tree, rules: HeadRules | None = None) -> list[int]:
    """The number of the head word of each node of `tree.walk()`, or -1 if the head is an empty element.

    >>> head_positions(Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"))
    [2, 1, 0, 1, 2, 2]
    """
    forest = Forest(tree, head_rules=rules or COLLINS)
    heads = forest.heads
    positions: list[int] = np.where(forest.is_word, np.cumsum(forest.is_word) - 1, -1).tolist()
    for node, head in reversed(list(enumerate(heads.tolist()))):
        if head >= 0:
            positions[node] = positions[head]
    return [position for position, head in zip(positions, heads.tolist(), strict=True) if head >= 0]


def flatten_in_python(trees: Sequence[Tree]) -> FlatArrays:
    rows: list[list[int]] = []  # label id, end, parent, previous, last child
    starts = [0]
    ids: dict[str, int] = {}
    for tree in trees:
        stack: list[tuple[Tree | str, int]] = [(tree, -1)]  # a node and its parent
        while stack:
            node, parent = stack.pop()
            label = node if isinstance(node, str) else node.label
            children: tuple[Tree | str, ...] = () if isinstance(node, str) else node.children
            previous = -1
            if parent >= 0:
                previous, rows[parent][4] = rows[parent][4], len(rows)
            stack += [(child, len(rows)) for child in reversed(children)]
            rows.append([ids.setdefault(label, len(ids)), len(rows) + 1, parent, previous, -1])
        starts.append(len(rows))
    for _, end, parent, *_ in reversed(rows):
        if parent >= 0:
            rows[parent][1] = max(rows[parent][1], end)
    columns = np.array(rows, dtype=np.int32).reshape(-1, 5).T
    return *(column.tobytes() for column in columns), np.array(starts, dtype=np.int32).tobytes(), list(ids)
