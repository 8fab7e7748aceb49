"""Trees as the 2n-1 labelled spans of a binary tree, and back.

A span's label is the chain of labels over it, outermost first, with spaces between (`S VP`), or, where binarization
made the span, the label of the constituent that it is a part of, in parentheses (`(NP)`). Brackets allow neither in a
label, so whatever else a treebank's labels hold, they are never mistaken for a chain or a part. The root's own label is
no span's: a chart covers what is below the root.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from treecrf.tree import Span, Tree, escape, unescape


class _Open(NamedTuple):
    node: Tree
    part: str  # the label of the span if no constituent of its own is there
    starts: list[int]  # where the node and its siblings start


class _Close(NamedTuple):
    label: str
    part: str
    starts: list[int]


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
    todo: list[_Open | _Close] = [_Open(tree, "", [])]
    while todo:
        task = todo.pop()
        if isinstance(task, _Close):
            starts = task.starts
            inner = [(starts[0], end) for end in starts[2:]]
            if side == "right":
                inner = [(start, position) for start in starts[-2:0:-1]]
            spans += [Span(start, end, task.part) for start, end in inner]
            spans.append(Span(starts[0], position, task.label))
            continue
        task.starts.append(position)
        node, chain = _descend(task.node)
        part = f"({escape(chain[-1])})" if chain else task.part
        label = " ".join(map(escape, chain[1:] if task.node is tree else chain)) or (task.part or part)
        if node.is_leaf:
            spans.append(Span(position, position + 1, label))
            position += 1
        else:
            starts = []
            todo.append(_Close(label, part, starts))
            todo += [_Open(child, part, starts) for child in reversed(node.subtrees)]
    return spans


def _descend(node: Tree) -> tuple[Tree, list[str]]:
    """Follow only children to a branching node or a preterminal, with the labels of constituents on the way."""
    chain = []
    while not node.is_leaf:
        chain.append(node.label)
        if len(node.children) > 1:
            break
        node = node.subtrees[0]
    return node, chain


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
    whole = Span(0, len(leaves), "")
    # spans end where their last child ends, and hold it: by end, then from short to long, is children first
    for span in sorted(spans, key=lambda span: (span.end, -span.start)):
        if not 0 <= span.start < span.end <= len(leaves):
            raise ValueError(f"{span} lies outside the sentence of {len(leaves)} words")
        while shifted < span.end:
            stack.append((shifted, [leaves[shifted]]))
            shifted += 1
        stretches: list[list[Tree]] = []
        start = span.end
        while start > span.start:
            start, nodes = stack.pop()
            stretches.append(nodes)
        if start < span.start:
            raise ValueError(f"{span} crosses another span that starts at {start}; expected the spans of one tree")
        nodes = stretches.pop()
        while stretches:
            nodes += stretches.pop()
        stack.append((start, _wrap(nodes, span.label)))
        if span[:2] == whole[:2]:
            whole = span
    if len(leaves) == 1 and whole.label == "" and stack:
        return leaves[0]
    return Tree(root, (*(node for _, nodes in stack for node in nodes), *leaves[shifted:]))


def _wrap(nodes: list[Tree], label: str) -> list[Tree]:
    """Put a span's constituents over its nodes; a part has none."""
    if not label or label.startswith("("):
        return nodes
    for name in reversed(label.split(" ")):
        nodes = [Tree(unescape(name), tuple(nodes))]
    return nodes


def is_part(label: str) -> bool:
    """Whether a span's label says that binarization made it."""
    return label.startswith("(")
