"""Trees as the 2n-1 labelled spans of a binary tree, and back.

A span's label is the chain of labels over it, outermost first, with spaces between (`S VP`), or, where binarization
made the span, the label of the constituent that it is a part of, in parentheses (`(NP)`). Brackets allow neither in a
label, so whatever else a treebank's labels hold, they are never mistaken for a chain or a part. The root's own label is
no span's: a chart covers what is below the root.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Literal

import numpy as np
import numpy.typing as npt

from treecrf.tree import Span, Tree, escape, unchecked, unescape


def to_spans(tree: Tree, *, side: Literal["left", "right"] = "left") -> list[Span]:
    """Labelled spans of the tree, binarized to the left or right, children before parents.

    >>> to_spans(Tree.parse("(TOP (NP (DT the) (NN cat)))"))
    [Span(start=0, end=1, label='(NP)'), Span(start=1, end=2, label='(NP)'), Span(start=0, end=2, label='NP')]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}; expected 'left' or 'right'")
    if tree.is_leaf:
        return [Span(0, 1, "")]
    spans: list[Span] = []
    position = 0
    # a node to visit, the label of a span there that is only a part, and where the node and its siblings start; or the
    # label of a constituent whose children are done, the label of its own parts, and where those children start
    todo: list[tuple[Tree | str, str, list[int]]] = [(tree, "", [])]
    while todo:
        node, part, starts = todo.pop()
        if isinstance(node, str):
            spans += _parts(starts, position, part, side)
            spans.append(Span(starts[0], position, node))
            continue
        starts.append(position)
        bottom, chain = _descend(node)
        inner = f"({chain[-1]})" if chain else part
        label = " ".join(chain[1:] if node is tree else chain) or part or inner
        if isinstance(bottom.children[0], str):
            spans.append(Span(position, position + 1, label))
            position += 1
        else:
            starts = []
            todo.append((label, inner, starts))
            todo += [(child, inner, starts) for child in bottom.children[::-1]]
    return spans


def _descend(node: Tree) -> tuple[Tree, list[str]]:
    """Follow only children to a branching node or a preterminal, with the labels of constituents on the way."""
    chain: list[str] = []
    while not isinstance(child := node.children[0], str):
        chain.append(escape(node.label))
        if len(node.children) > 1:
            break
        node = child
    return node, chain


def _parts(starts: list[int], end: int, label: str, side: str) -> list[Span]:
    """The spans that binarization makes inside a constituent whose children start there."""
    if side == "left":
        return [Span(starts[0], stop, label) for stop in starts[2:]]
    return [Span(start, end, label) for start in starts[-2:0:-1]]


def from_spans(spans: Iterable[Span], leaves: Sequence[Tree], root: str = "TOP") -> Tree:
    """The tree that labelled spans make over preterminals: the inverse of `to_spans`.

    A span with a part's label is dissolved into whatever constituent holds it, as the paper does: predicted labels need
    not agree with each other. Spans may come in any order; one over a single word may be missing.

    >>> cat = Tree.parse("(TOP (NP (DT the) (NN cat)))")
    >>> print(from_spans(to_spans(cat), cat.leaves()))
    (TOP (NP (DT the) (NN cat)))
    """
    if not leaves:
        raise ValueError("no leaves; a tree needs at least one word")
    stack: list[tuple[int, list[Tree]]] = []  # neighbouring stretches of the sentence: start, constituents
    shifted = 0
    whole = ""
    # spans end where their last child ends, and hold it: by end, then from short to long, is children first
    shortest_first = sorted(sorted(spans, key=itemgetter(0), reverse=True), key=itemgetter(1))
    for start, end, label in shortest_first:
        if not 0 <= start < end <= len(leaves):
            raise ValueError(f"{Span(start, end, label)} lies outside the sentence of {len(leaves)} words")
        while shifted < end:
            stack.append((shifted, [leaves[shifted]]))
            shifted += 1
        stack.append((start, _wrap(_take(stack, start, end), label)))
        if end - start == len(leaves):
            whole = label
    if len(leaves) == 1 and stack and not whole:
        return leaves[0]
    return Tree(root, (*(node for _, nodes in stack for node in nodes), *leaves[shifted:]))


def _take(stack: list[tuple[int, list[Tree]]], start: int, end: int) -> list[Tree]:
    """Remove the stretches that make up a span, and return their constituents."""
    first, nodes = stack.pop()
    if first == start:
        return nodes
    stretches = [nodes]
    while first > start:
        first, nodes = stack.pop()
        stretches.append(nodes)
    if first < start:
        raise ValueError(f"span {start}-{end} crosses another from {first}; expected the spans of one tree")
    nodes = stretches.pop()
    while stretches:
        nodes += stretches.pop()
    return nodes


def _wrap(nodes: list[Tree], label: str) -> list[Tree]:
    """Put a span's constituents over its nodes; a part has none."""
    if not label or label.startswith("("):
        return nodes
    for name in reversed(label.split(" ")):
        nodes = [unchecked(unescape(name), tuple(nodes))]
    return nodes


def is_intermediate(label: str) -> bool:
    """Whether a span was made by binarization, by its label."""
    return label.startswith("(")


def unary_chain(label: str) -> tuple[str, ...]:
    """The constituents that a span's label stands for, outermost first; none for an intermediate label.

    >>> unary_chain("S VP"), unary_chain("(NP)")
    (('S', 'VP'), ())
    """
    return tuple(map(unescape, label.split(" "))) if label and not is_intermediate(label) else ()


class LabelSet:
    """The span labels of a model, and the constituents that each contains."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.strings = tuple(labels)
        chains = [unary_chain(label) for label in labels]
        self.names = sorted({name for chain in chains for name in chain})
        # (labels, names + 1): whether the unary chain contains the name; last column: whether the label is not empty
        self.contains = np.array(
            [
                [*(name in chain for name in self.names), label != ""]
                for label, chain in zip(labels, chains, strict=True)
            ]
        )
        self.counts = np.array([len(chain) for chain in chains], dtype=np.int64)  # constituents per label
        self._chains = [[number] for number, chain in enumerate(chains) if chain]
        self._intermediate = [number for number, label in enumerate(labels) if is_intermediate(label)]
        self._empty = [number for number, label in enumerate(labels) if not label]

    def equivalent(self, length: int) -> list[list[int]]:
        """Groups of labels that give a span the same constituents in a sentence of this length.

        All labels without constituents give the same tree, except for a sentence of one word: there the empty label
        gives a tree without a root, and an intermediate label one with a root.
        """
        groups = [self._intermediate, self._empty] if length == 1 else [self._intermediate + self._empty]
        return self._chains + [group for group in groups if group]

    def containing(self, start: int, end: int, name: str | None, *, length: int, root: str) -> npt.NDArray[np.bool_]:
        """Mask (labels,): the labels that make words[start:end] a constituent `name`, or any constituent if None."""
        columns = range(len(self.names)) if name is None else [self.names.index(name)] if name in self.names else []
        mask = np.zeros(len(self.strings), dtype=np.bool_)
        mask[self.contains[:, list(columns)].any(axis=1)] = True
        if end - start == length and name in (None, root):
            mask[self.contains[:, -1] | (length > 1)] = True  # only a sentence of one word may have no root
        return mask
