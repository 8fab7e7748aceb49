"""Binarization: a tree as the 2n-1 labeled spans of a binary tree, and back.

The label of a span is the unary chain of constituents over it, outermost first, joined by spaces (`S VP`). A span that
binarization adds has an intermediate label: the label of its constituent in parentheses (`(NP)`). Labels in brackets
contain neither spaces nor parentheses, so a treebank's labels are never mistaken for chains or intermediate labels. No
span has the root's label: a chart covers the constituents below the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from treecrf.trees.notation import EMPTY, escape, unescape
from treecrf.trees.tree import Span, Tree, build_unchecked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def to_spans(tree: Tree, *, side: Literal["left", "right"] = "left") -> list[Span]:
    """The labeled spans of the tree after left or right binarization, children before parents.

    Empty elements are left out.

    >>> to_spans(Tree.parse("(TOP (NP (DT the) (NN cat)))"))
    [Span(start=0, end=1, label='(NP)'), Span(start=1, end=2, label='(NP)'), Span(start=0, end=2, label='NP')]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}; expected 'left' or 'right'")
    if tree.is_leaf:
        return [Span(0, 1, "")]
    spans: list[Span] = []
    position = 0
    # a node, its parent's intermediate label, and the starts of the node and its siblings; or, after its children, the
    # label of a constituent, its intermediate label, and the starts of its children
    stack: list[tuple[Tree | str, str, list[int]]] = [(tree, "", [])]
    while stack:
        node, intermediate, starts = stack.pop()
        if isinstance(node, str):
            spans += _intermediate_spans(starts, position, intermediate, side)
            spans.append(Span(starts[0], position, node))
            continue
        starts.append(position)
        bottom, chain = _descend(node)
        inner = f"({chain[-1]})" if chain else intermediate
        label = " ".join(chain[1:] if node is tree else chain) or intermediate or inner
        if isinstance(bottom.children[0], str):
            if bottom.label == EMPTY:
                return to_spans(tree.plain(functions=True), side=side)
            spans.append(Span(position, position + 1, label))
            position += 1
        else:
            starts = []
            stack.append((label, inner, starts))
            stack += [(child, inner, starts) for child in bottom.children[::-1]]
    return spans


def _descend(node: Tree) -> tuple[Tree, list[str]]:
    """Follows only children down to a branching node or a preterminal; also returns the labels on the way."""
    chain: list[str] = []
    while not isinstance(child := node.children[0], str):
        chain.append(escape(node.label))
        if len(node.children) > 1:
            break
        node = child
    return node, chain


def _intermediate_spans(starts: list[int], end: int, label: str, side: str) -> list[Span]:
    """The spans that binarization adds to a constituent, given the starts of its children."""
    if side == "left":
        return [Span(starts[0], stop, label) for stop in starts[2:]]
    return [Span(start, end, label) for start in starts[-2:0:-1]]


def from_spans(spans: Iterable[Span], leaves: Sequence[Tree], root: str = "TOP") -> Tree:
    """The tree of labeled spans over preterminals: the inverse of `to_spans`.

    A span with an intermediate label is dissolved into its parent, whatever the parent's label, as in the paper:
    predicted labels need not agree with each other. Spans may be in any order. Spans of single words are optional.

    >>> cat = Tree.parse("(TOP (NP (DT the) (NN cat)))")
    >>> print(from_spans(to_spans(cat), cat.preterminals()))
    (TOP (NP (DT the) (NN cat)))
    """
    if not leaves:
        raise ValueError("no leaves; a tree needs at least one word")
    stack: list[tuple[int, list[Tree]]] = []  # adjacent segments of the sentence: start, constituents
    shifted = 0  # leaves on the stack
    sentence_label = ""
    # a span ends where its last child ends: sorted by end, then from short to long, children come first
    children_first = sorted(sorted(spans, key=itemgetter(0), reverse=True), key=itemgetter(1))
    for start, end, label in children_first:
        if not 0 <= start < end <= len(leaves):
            raise ValueError(f"{Span(start, end, label)} is outside the sentence of {len(leaves)} words")
        while shifted < end:
            stack.append((shifted, [leaves[shifted]]))
            shifted += 1
        stack.append((start, _wrap(_pop_span(stack, start, end), label)))
        if end - start == len(leaves):
            sentence_label = label
    if len(leaves) == 1 and stack and not sentence_label:
        return leaves[0]
    return Tree(root, (*(node for _, nodes in stack for node in nodes), *leaves[shifted:]))


def _pop_span(stack: list[tuple[int, list[Tree]]], start: int, end: int) -> list[Tree]:
    """Removes the segments of a span from the stack and returns their constituents."""
    first, nodes = stack.pop()
    if first == start:
        return nodes
    segments = [nodes]
    while first > start:
        first, nodes = stack.pop()
        segments.append(nodes)
    if first < start:
        raise ValueError(f"span {start}-{end} crosses another from {first}; expected the spans of one tree")
    nodes = segments.pop()
    while segments:
        nodes += segments.pop()
    return nodes


def _wrap(nodes: list[Tree], label: str) -> list[Tree]:
    """Puts the constituents of a span's label over its nodes."""
    for name in reversed(unary_chain(label)):
        nodes = [build_unchecked(name, tuple(nodes))]
    return nodes


def chain_spans(spans: Sequence[Span]) -> list[Span]:
    """The labeled spans of a tree that have constituents below the root, given `Tree.spans`.

    >>> chain_spans(Tree.parse("(TOP (S (VP (VB go) (ADVP (RB away)))))").spans())
    [Span(start=0, end=2, label='S VP'), Span(start=1, end=2, label='ADVP')]
    """
    chains: dict[tuple[int, int], list[str]] = {}
    for start, end, label in spans[1:]:
        chains.setdefault((start, end), []).append(escape(label))
    return [Span(*position, " ".join(chain)) for position, chain in chains.items()]


def free_positions(constituents: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """The other spans of the left binarization of a tree with these constituents, parents before children.

    >>> free_positions([(0, 4), (0, 1)], 4)
    [(1, 2), (2, 3), (3, 4), (0, 2), (0, 3)]
    """
    spans, excluded = [(word, word + 1) for word in range(length)], set(constituents)
    ends = [end for _, end in spans]  # the end of the largest span so far that starts at each word
    for start, end in [*reversed(constituents), (0, length)]:
        while ends[start] < end:
            ends[start] = ends[ends[start]]
            spans.append((start, ends[start]))
    return [span for span in spans if span not in excluded]


def is_intermediate(label: str) -> bool:
    """Whether a label is the intermediate label of a span that binarization added."""
    return label.startswith("(")


def unary_chain(label: str) -> tuple[str, ...]:
    """The constituents of a span's label, outermost first; none for an intermediate label.

    >>> unary_chain("S VP"), unary_chain("(NP)")
    (('S', 'VP'), ())
    """
    return tuple(map(unescape, label.split(" "))) if label and not is_intermediate(label) else ()


def constituent_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of constituents in the labels of spans, sorted.

    >>> constituent_labels(["S VP", "(NP)", "NP", ""])
    ('NP', 'S', 'VP')
    """
    return tuple(sorted({name for label in labels for name in unary_chain(label)}))


def _constituents(label: str) -> list[tuple[str, int]]:
    """The constituents of a span's label, outermost first; each name with its occurrence in the chain, from 1."""
    chain = unary_chain(label)
    return [(name, chain[: place + 1].count(name)) for place, name in enumerate(chain)]


class LabelSet:
    """The span labels of a model, and the constituents that each contains.

    A chain may contain a name more than once (`NP NP`). So a constituent is a name and its occurrence in the chain:
    the second NP over a span exists if the chain contains NP at least twice.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        import numpy as np  # not at the top: reading and writing trees works without NumPy

        self.strings = tuple(labels)
        self.ids = {label: number for number, label in enumerate(labels)}
        chains = [_constituents(label) for label in labels]
        constituents = sorted({constituent for chain in chains for constituent in chain})
        self.names = sorted({name for name, _ in constituents})
        self._columns = {constituent: column for column, constituent in enumerate(constituents)}
        self._label_columns: dict[str, list[int]] = {}  # a cache
        # (labels, constituents + 1): whether the label contains the constituent; last column: whether it is not empty
        self.contains = np.zeros((len(chains), len(constituents) + 1), dtype=np.bool_)
        for row, chain in enumerate(chains):
            self.contains[row, [self._columns[constituent] for constituent in chain]] = True
        self.contains[:, -1] = [label != "" for label in labels]
        self.counts = np.array([len(chain) for chain in chains], dtype=np.int64)  # constituents per label
        self._chains = [number for number, chain in enumerate(chains) if chain]
        self._intermediate = [number for number, label in enumerate(labels) if is_intermediate(label)]
        self._empty = [number for number, label in enumerate(labels) if not label]

    def columns(self, label: str) -> list[int]:
        """The columns of `contains` for the constituents of a label, outermost first."""
        columns = self._label_columns.get(label)
        if columns is None:
            columns = self._label_columns[label] = [self._columns[constituent] for constituent in _constituents(label)]
        return columns

    @cached_property
    def bits(self) -> list[int]:
        """The constituents of each label as bits."""
        return [sum(1 << column for column in self.columns(label)) for label in self.strings]

    @cached_property
    def repeating(self) -> frozenset[int]:
        """The labels with a constituent directly over a constituent of the same name, such as `NP NP`."""
        chains = map(unary_chain, self.strings)
        return frozenset(number for number, chain in enumerate(chains) if any(a == b for a, b in pairwise(chain)))

    def free_labels(self, length: int) -> list[int]:
        """The labels that give a span of a sentence of this length no constituent; all of them give the same tree.

        In a sentence of one word, the empty label is not among them: it gives a tree without a root.
        """
        return self._intermediate + (self._empty if length > 1 else [])

    def tree_labels(self, length: int) -> list[int]:
        """The labels of which each gives a different tree: all that are not in `free_labels`."""
        return self._chains + (self._empty if length == 1 else [])

    def containing(self, start: int, end: int, name: str | None, *, length: int, root: str) -> npt.NDArray[np.bool_]:
        """Mask (labels,): the labels that make words[start:end] a constituent `name`, or any constituent if None."""
        import numpy as np

        if name is None:
            mask = self.counts > 0
        elif (name, 1) in self._columns:
            mask = self.contains[:, self._columns[name, 1]].copy()
        else:
            mask = np.zeros(len(self.strings), dtype=np.bool_)
        if end - start == length and name in (None, root):
            mask[self.contains[:, -1] | (length > 1)] = True  # only a sentence of one word may have no root
        return mask
