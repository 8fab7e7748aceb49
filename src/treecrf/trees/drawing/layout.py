"""Tree layout: compact, without overlaps, with parents centered over their children.

Subtrees are packed by their outlines: a left and a right edge for each level. Joining two outlines visits only the
levels that both have, so that the time is linear in the number of nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal, NamedTuple

from treecrf.trees.drawing.colors import check_probabilities, format_probability
from treecrf.trees.notation import split_label
from treecrf.trees.tree import Tree


class Node(NamedTuple):
    """A label, a tag, or the word or empty element below a tag; parents precede children."""

    text: str
    kind: Literal["label", "tag", "word", "trace"]
    parent: int  # index of the parent, -1 for the root
    depth: int
    span: int = -1  # for a label above words, its index in `tree.spans()`
    probability: float | None = None  # the constituent's, if it is known

    @property
    def is_leaf(self) -> bool:
        """Whether the node is below a tag."""
        return self.kind in ("word", "trace")

    @property
    def percent(self) -> str:
        """The probability as a percentage; empty if it is not known or rounds to 100 %."""
        return "" if self.probability is None else format_probability(self.probability)


def list_nodes(tree: Tree, probabilities: Sequence[float] | None = None) -> list[Node]:
    """The nodes of a tree and its words, parents before children, left to right.

    `probabilities` has one for each of `tree.spans()`.
    """
    nodes: list[Node] = []
    stack = [(tree, -1, 0)]
    while stack:
        node, parent, depth = stack.pop()
        number = len(nodes)
        word = node.children[0]
        nodes.append(Node(node.label, "tag" if node.is_leaf else "label", parent, depth))
        if isinstance(word, str):
            nodes.append(Node(word, "trace" if node.is_empty else "word", number, depth + 1))
        stack += [(child, number, depth + 1) for child in reversed(node.child_trees)]
    nodes = _number_spans(nodes)
    checked = check_probabilities(probabilities, sum(node.span >= 0 for node in nodes))
    if checked is None:
        return nodes
    return [node._replace(probability=checked[node.span]) if node.span >= 0 else node for node in nodes]


def _number_spans(nodes: list[Node]) -> list[Node]:
    """Numbers the constituents that have words, in the order of `tree.spans()`."""
    has_words = [node.kind == "word" for node in nodes]
    for number in range(len(nodes) - 1, 0, -1):
        has_words[nodes[number].parent] |= has_words[number]
    spans = count()
    return [
        node._replace(span=next(spans)) if node.kind == "label" and is_filled else node
        for node, is_filled in zip(nodes, has_words, strict=True)
    ]


def find_antecedents(nodes: Sequence[Node]) -> dict[int, int]:
    """The numbers of empty elements with an index, each with the number of the first constituent with this index."""
    constituents: dict[int | None, int] = {}
    for number, node in enumerate(nodes):
        if node.kind == "label":
            constituents.setdefault(split_label(node.text).index, number)
    constituents.pop(None, None)
    indices = {number: split_label(node.text).index for number, node in enumerate(nodes) if node.kind == "trace"}
    return {number: constituents[index] for number, index in indices.items() if index in constituents}


def bottom_up_levels(nodes: Sequence[Node]) -> list[int]:
    """The level of each node if all words are on the last level, and every other node directly above its children."""
    heights = [0] * len(nodes)
    for number in range(len(nodes) - 1, 0, -1):
        parent = nodes[number].parent
        heights[parent] = max(heights[parent], heights[number] + 1)
    return [heights[0] - height for height in heights]


def center_nodes(nodes: Sequence[Node], extents: Sequence[float], gap: float, levels: Sequence[int]) -> list[float]:
    """The center of each node on the line of its level, in the order of the words.

    `extents` are the sizes of nodes on the line, `levels` their distances from the root. If a child is more than one
    level below its parent, the space between them is kept free.
    """
    children: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes[1:], 1):
        children[node.parent].append(number)
    offsets = [0.0] * len(nodes)  # from the parent's center
    outlines: dict[int, _Outline] = {}
    for number in range(len(nodes) - 1, -1, -1):
        child_numbers = children[number]
        below = [outlines.pop(child) for child in child_numbers]
        for child, outline in zip(child_numbers, below, strict=True):
            outline.push(0.0, times=levels[child] - levels[number] - 1)
        positions = _positions(below, gap)
        outline = _join(below, positions)
        middle = (positions[0] + positions[-1]) / 2 if positions else 0.0
        for child, position in zip(child_numbers, positions, strict=True):
            offsets[child] = position - middle
        outline.move(-middle)
        outline.push(extents[number] / 2)
        outlines[number] = outline
    for number, node in enumerate(nodes[1:], 1):
        offsets[number] += offsets[node.parent]
    least = min(middle - extent / 2 for middle, extent in zip(offsets, extents, strict=True))
    return [middle - least for middle in offsets]


@dataclass
class _OutlineEdge:
    """One edge of an outline, the root's level last; `shift` is added to every value."""

    values: list[float]
    shift: float = 0.0

    def before(self, other: "_OutlineEdge") -> "_OutlineEdge":
        """This edge on its levels, the other edge below them; both must not be used afterwards."""
        shared = len(self.values)
        if shared >= len(other.values):
            return self
        shift = self.shift - other.shift
        other.values[-shared:] = [value + shift for value in self.values]
        return other


@dataclass
class _Outline:
    """The extent of a subtree to both sides of a point, for each level."""

    left: _OutlineEdge
    right: _OutlineEdge

    def copy(self) -> "_Outline":
        left, right = self.left, self.right
        return _Outline(_OutlineEdge(left.values[:], left.shift), _OutlineEdge(right.values[:], right.shift))

    def move(self, distance: float) -> None:
        self.left.shift += distance
        self.right.shift += distance

    def push(self, reach: float, *, times: int = 1) -> None:
        """Adds levels above, with the same extent to both sides."""
        self.left.values += [-reach - self.left.shift] * times
        self.right.values += [reach - self.right.shift] * times

    def distance_to(self, other: "_Outline") -> float:
        """The distance between the two points at which the outlines touch, the other on the right."""
        right, left = self.right.values, other.left.values
        shared = min(len(right), len(left))
        closest = max(a - b for a, b in zip(right[-shared:], left[-shared:], strict=True))
        return closest + self.right.shift - other.left.shift

    def join(self, other: "_Outline", distance: float) -> "_Outline":
        """The outline of both, the other at a distance on the right; both must not be used afterwards."""
        other.move(distance)
        return _Outline(self.left.before(other.left), other.right.before(self.right))


def _positions(outlines: list[_Outline], gap: float) -> list[float]:
    """The positions of adjacent subtrees: the mean of packing them to the left and packing them to the right.

    A small subtree between large ones is therefore centered. Both packings keep the minimal distances, and so does
    their mean.
    """
    if len(outlines) < 2:
        return [0.0] * len(outlines)
    if len(outlines) == 2:
        return [0.0, outlines[0].distance_to(outlines[1]) + gap]
    leftmost = [0.0]
    row = outlines[0].copy()
    for outline in outlines[1:]:
        leftmost.append(row.distance_to(outline) + gap)
        row = row.join(outline.copy(), leftmost[-1])
    rightmost = [leftmost[-1]]
    row = outlines[-1].copy()
    for outline in outlines[-2::-1]:
        distance = outline.distance_to(row) + gap
        rightmost.append(rightmost[-1] - distance)
        row = outline.copy().join(row, distance)
    return [(a + b) / 2 for a, b in zip(leftmost, rightmost[::-1], strict=True)]


def _join(outlines: list[_Outline], positions: list[float]) -> _Outline:
    row = outlines[0] if outlines else _Outline(_OutlineEdge([]), _OutlineEdge([]))
    for outline, position in zip(outlines[1:], positions[1:], strict=True):
        row = row.join(outline, position)
    return row
