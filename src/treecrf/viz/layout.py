"""Where the nodes of a tree stand: close together, parents over the middle of their children, nothing overlapping.

Subtrees are packed by their outlines, one pair of edges for each level. Joining two outlines touches only the levels
that both have, so the work grows with the number of nodes, however deep the tree is.
"""

from collections.abc import Sequence
from typing import NamedTuple

from treecrf.tree import Tree


class Node(NamedTuple):
    """A label, tag or word, and its place in the tree; parents come before children."""

    text: str
    kind: str  # "label", "tag" or "word"
    parent: int  # its number, -1 for the root
    depth: int
    span: int  # for a label, the number of its constituent among `tree.spans()`


def nodes_of(tree: Tree) -> list[Node]:
    """The nodes of a tree with its words, in the order of reading brackets."""
    nodes: list[Node] = []
    spans = 0
    stack = [(tree, -1, 0)]
    while stack:
        node, parent, depth = stack.pop()
        number = len(nodes)
        word = node.children[0]
        if isinstance(word, str):
            nodes.append(Node(node.label, "tag", parent, depth, -1))
            nodes.append(Node(word, "word", number, depth + 1, -1))
            continue
        nodes.append(Node(node.label, "label", parent, depth, spans))
        spans += 1
        stack += [(child, number, depth + 1) for child in reversed(node.subtrees)]
    return nodes


def levels_from_below(nodes: Sequence[Node]) -> list[int]:
    """The level of each node where all words share the last, and others stand right over what they hold."""
    found = [0] * len(nodes)
    for number in range(len(nodes) - 1, 0, -1):
        parent = nodes[number].parent
        found[parent] = max(found[parent], found[number] + 1)
    return [found[0] - height for height in found]


def spread(nodes: Sequence[Node], extents: Sequence[float], gap: float, levels: Sequence[int]) -> list[float]:
    """The middle of each node on the line that its level is, in the order of the words.

    `extents` says how much of the line each node fills, `levels` how far each is below the root. Where a child is more
    than a level below its parent, the way down to it is kept free.
    """
    children: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes[1:], 1):
        children[node.parent].append(number)
    offsets = [0.0] * len(nodes)  # from the parent's middle
    outlines: dict[int, _Outline] = {}
    for number in range(len(nodes) - 1, -1, -1):
        own = children[number]
        below = [outlines.pop(child) for child in own]
        for child, outline in zip(own, below, strict=True):
            outline.push(0.0, times=levels[child] - levels[number] - 1)
        places = _places(below, gap)
        outline = _joined(below, places)
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        for child, place in zip(own, places, strict=True):
            offsets[child] = place - middle
        outline.move(-middle)
        outline.push(extents[number] / 2)
        outlines[number] = outline
    for number, node in enumerate(nodes[1:], 1):
        offsets[number] += offsets[node.parent]
    least = min(middle - extent / 2 for middle, extent in zip(offsets, extents, strict=True))
    return [middle - least for middle in offsets]


class _Edge:
    """One edge of an outline, the root's level last; `shift` is added to all of it."""

    def __init__(self, values: list[float], shift: float = 0.0) -> None:
        self.values = values
        self.shift = shift

    def before(self, other: "_Edge") -> "_Edge":
        """This edge where it has levels, the other below; both are used up."""
        shared = len(self.values)
        if shared >= len(other.values):
            return self
        shift = self.shift - other.shift
        other.values[-shared:] = [value + shift for value in self.values]
        return other


class _Outline:
    """How far a subtree reaches to both sides of a point, level by level."""

    def __init__(self, left: _Edge, right: _Edge) -> None:
        self.left = left
        self.right = right

    def copy(self) -> "_Outline":
        left, right = self.left, self.right
        return _Outline(_Edge(left.values[:], left.shift), _Edge(right.values[:], right.shift))

    def move(self, distance: float) -> None:
        self.left.shift += distance
        self.right.shift += distance

    def push(self, reach: float, *, times: int = 1) -> None:
        """Add levels above, which reach equally far to both sides."""
        self.left.values += [-reach - self.left.shift] * times
        self.right.values += [reach - self.right.shift] * times

    def apart(self, other: "_Outline") -> float:
        """How far the other's point must be to the right of this one's, for the two to touch."""
        mine, its = self.right.values, other.left.values
        shared = min(len(mine), len(its))
        closest = max(a - b for a, b in zip(mine[-shared:], its[-shared:], strict=True))
        return closest + self.right.shift - other.left.shift

    def join(self, other: "_Outline", distance: float) -> "_Outline":
        """The outline of both, the other's point at a distance to the right of this one's; both are used up."""
        other.move(distance)
        return _Outline(self.left.before(other.left), other.right.before(self.right))


def _places(outlines: list[_Outline], gap: float) -> list[float]:
    """Points of neighbouring subtrees, from the first's on: packed to the left and to the right, and the mean of both.

    A small subtree between large ones so stands in the middle of its room. Both packings keep all distances, and so
    does their mean.
    """
    if len(outlines) < 2:
        return [0.0] * len(outlines)
    if len(outlines) == 2:
        return [0.0, outlines[0].apart(outlines[1]) + gap]
    leftmost = [0.0]
    row = outlines[0].copy()
    for outline in outlines[1:]:
        leftmost.append(row.apart(outline) + gap)
        row = row.join(outline.copy(), leftmost[-1])
    rightmost = [leftmost[-1]]
    row = outlines[-1].copy()
    for outline in outlines[-2::-1]:
        distance = outline.apart(row) + gap
        rightmost.append(rightmost[-1] - distance)
        row = outline.copy().join(row, distance)
    return [(a + b) / 2 for a, b in zip(leftmost, rightmost[::-1], strict=True)]


def _joined(outlines: list[_Outline], places: list[float]) -> _Outline:
    if not outlines:
        return _Outline(_Edge([]), _Edge([]))
    row = outlines[0]
    for outline, place in zip(outlines[1:], places[1:], strict=True):
        row = row.join(outline, place)
    return row
