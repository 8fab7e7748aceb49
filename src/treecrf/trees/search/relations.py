"""Relations between nodes: for each one, the candidates in Tregex's order.

A node is its position in the arrays of a forest, where parents stand before their children and a subtree is a range.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from treecrf.config import read_data

NUMBERED = {"<": "<i", ">": ">i"}
# other symbols of a relation, with the number of the child
SYNONYMS: dict[str, tuple[str, int]] = read_data(__file__)
NodeStep = Callable[[int], int]  # from a node to another one, or to -1


class NodeArrays(NamedTuple):
    """The arrays of a forest, for one tree at a time: `start` and `end` are its range of nodes. -1 means none."""

    ends: Sequence[int]
    parents: Sequence[int]
    previous: Sequence[int]  # the sister to the left
    last_children: Sequence[int]
    heads: Sequence[int]  # the head child
    start: int
    end: int

    def children(self, node: int) -> Iterator[int]:
        """Yields the children from left to right."""
        child, end = node + 1, self.ends[node]
        while child < end:
            yield child
            child = self.ends[child]

    def first_child(self, node: int) -> int:
        return node + 1 if self.ends[node] > node + 1 else -1

    def only_child(self, node: int) -> int:
        return node + 1 if self.ends[node] > node + 1 == self.last_children[node] else -1

    def numbered_child(self, node: int, number: int) -> int:
        """Returns the child with this number, from the left or, if negative, from the right."""
        previous = self.previous.__getitem__
        siblings = self.children(node) if number > 0 else repeat(previous, self.last_children[node], first=True)
        return next(islice(siblings, abs(number) - 1, None), -1)

    def next_sister(self, node: int) -> int:
        parent, sister = self.parents[node], self.ends[node]
        return sister if parent >= 0 and sister < self.ends[parent] else -1

    def following(self, node: int) -> int:
        """Returns the highest node that starts where the subtree ends."""
        return self.ends[node] if self.ends[node] < self.end else -1

    def preceding(self, node: int) -> int:
        """Returns the highest node that ends where the subtree starts."""
        while node >= 0 and self.previous[node] < 0:
            node = self.parents[node]
        return self.previous[node] if node >= 0 else -1

    def parent_by(self, child: NodeStep) -> NodeStep:
        """Returns the step to the parent for nodes to which the step `child` leads back."""

        def step(node: int) -> int:
            parent = self.parents[node]
            return parent if parent >= 0 and child(parent) == node else -1

        return step


class Step(NamedTuple):
    """The start of a relation: a node, the number of a child, and the labels of a path by node."""

    node: int
    number: int
    is_on_path: Callable[[int], bool]


Candidates = Callable[[NodeArrays, Step], Iterator[int]]


def repeat(step: NodeStep, node: int, *, first: bool = False) -> Iterator[int]:
    """Yields the nodes that `step` reaches from a node, until -1; with `first`, the node comes first."""
    node = node if first else step(node)
    while node >= 0:
        yield node
        node = step(node)


def _one(node: int) -> Iterator[int]:
    return iter((node,) if node >= 0 else ())


def _ancestors_from_root(arrays: NodeArrays, node: int) -> list[int]:
    """The node and its ancestors, the highest first."""
    return list(repeat(arrays.parents.__getitem__, node, first=True))[::-1]


def _precedes(arrays: NodeArrays, step: Step) -> Iterator[int]:
    """All nodes after the subtree; the sisters of the highest ancestor come first."""
    for ancestor in _ancestors_from_root(arrays, step.node):
        parent = arrays.parents[ancestor]
        yield from range(arrays.ends[ancestor], arrays.ends[parent] if parent >= 0 else arrays.ends[ancestor])


def _follows(arrays: NodeArrays, step: Step) -> Iterator[int]:
    """All nodes before the subtree except ancestors; the sisters of the highest ancestor come first."""
    for ancestor in _ancestors_from_root(arrays, step.node):
        for sister in repeat(arrays.previous.__getitem__, ancestor):
            yield from range(sister, arrays.ends[sister])


def _sisters(arrays: NodeArrays, step: Step) -> Iterator[int]:
    parent = arrays.parents[step.node]
    return (child for child in arrays.children(parent) if child != step.node) if parent >= 0 else iter(())


def _path_down(arrays: NodeArrays, step: Step) -> Iterator[int]:
    """Descendants through nodes of the path, in pre-order."""
    stack = list(arrays.children(step.node))[::-1]
    while stack:
        node = stack.pop()
        yield node
        if step.is_on_path(node):
            stack += list(arrays.children(node))[::-1]


def _path_up(arrays: NodeArrays, step: Step) -> Iterator[int]:
    parents = arrays.parents
    return repeat(lambda node: parents[node] if step.is_on_path(node) else -1, parents[step.node], first=True)


def _path_across(arrays: NodeArrays, step: Step, neighbor: NodeStep) -> Iterator[int]:
    """Nodes that neighbors on the path reach, each once; the last one that was reached comes first.

    From a neighbor the search goes down to first children, also to the left of the node: so does Tregex.
    """
    reached: dict[int, None] = {}
    stack = [neighbor(step.node)]
    while stack:
        node = stack.pop()
        if node < 0:
            continue
        stack.append(arrays.first_child(node))
        if node not in reached and step.is_on_path(node):
            stack.append(neighbor(node))
        reached.setdefault(node)
    return reversed(list(reached))


# the order gives the numbers of the relations in the compiled matcher
RELATIONS: dict[str, Candidates] = {
    "==": lambda arrays, step: _one(step.node),
    "<": lambda arrays, step: arrays.children(step.node),
    ">": lambda arrays, step: _one(arrays.parents[step.node]),
    "<<": lambda arrays, step: iter(range(step.node + 1, arrays.ends[step.node])),
    ">>": lambda arrays, step: repeat(arrays.parents.__getitem__, step.node),
    "$": _sisters,
    "$++": lambda arrays, step: reversed(list(repeat(arrays.next_sister, step.node))),
    "$--": lambda arrays, step: reversed(list(repeat(arrays.previous.__getitem__, step.node))),
    "$+": lambda arrays, step: _one(arrays.next_sister(step.node)),
    "$-": lambda arrays, step: _one(arrays.previous[step.node]),
    "..": _precedes,
    ",,": _follows,
    ".": lambda arrays, step: repeat(arrays.first_child, arrays.following(step.node), first=True),
    ",": lambda arrays, step: repeat(arrays.last_children.__getitem__, arrays.preceding(step.node), first=True),
    "<<,": lambda arrays, step: repeat(arrays.first_child, step.node),
    "<<-": lambda arrays, step: repeat(arrays.last_children.__getitem__, step.node),
    ">>,": lambda arrays, step: repeat(arrays.parent_by(arrays.first_child), step.node),
    ">>-": lambda arrays, step: repeat(arrays.parent_by(arrays.last_children.__getitem__), step.node),
    "<i": lambda arrays, step: _one(arrays.numbered_child(step.node, step.number)),
    ">i": lambda arrays, step: _one(
        arrays.parent_by(lambda parent: arrays.numbered_child(parent, step.number))(step.node)
    ),
    "<:": lambda arrays, step: _one(arrays.only_child(step.node)),
    ">:": lambda arrays, step: _one(arrays.parent_by(arrays.only_child)(step.node)),
    "<<:": lambda arrays, step: repeat(arrays.only_child, step.node),
    ">>:": lambda arrays, step: repeat(arrays.parent_by(arrays.only_child), step.node),
    "<#": lambda arrays, step: _one(arrays.heads[step.node]),
    ">#": lambda arrays, step: _one(arrays.parent_by(arrays.heads.__getitem__)(step.node)),
    "<<#": lambda arrays, step: repeat(arrays.heads.__getitem__, step.node),
    ">>#": lambda arrays, step: repeat(arrays.parent_by(arrays.heads.__getitem__), step.node),
    "<=": lambda arrays, step: iter((step.node, *arrays.children(step.node))),
    ":": lambda arrays, step: iter(range(arrays.start, arrays.end)),
    "<+": _path_down,
    ">+": _path_up,
    ".+": lambda arrays, step: _path_across(arrays, step, arrays.following),
    ",+": lambda arrays, step: _path_across(arrays, step, arrays.preceding),
}
