"""Relations between nodes: for each one, the candidates in Tregex's order.

A node is its position in the arrays of a forest, where parents stand before their children and a subtree is a range.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

NUMBERED = {"<": "<i", ">": ">i"}
# other symbols of a relation, with the number of the child
SYNONYMS = {
    "<,": ("<i", 1),
    "<-": ("<i", -1),
    "<`": ("<i", -1),
    ">,": (">i", 1),
    ">-": (">i", -1),
    ">`": (">i", -1),
    "<<`": ("<<-", 0),
    ">>`": (">>-", 0),
    "$..": ("$++", 0),
    "$,,": ("$--", 0),
    "$.": ("$+", 0),
    "$,": ("$-", 0),
}


class NodeArrays(NamedTuple):
    """The arrays of a forest, for one tree at a time: `start` and `end` are its range of nodes."""

    ends: Sequence[int]
    parents: Sequence[int]  # -1 at a root
    previous: Sequence[int]  # the sister to the left, or -1
    last_children: Sequence[int]  # -1 at a word
    heads: Sequence[int]  # the head child, or -1 at a word
    start: int
    end: int


class Step(NamedTuple):
    """The start of a relation: a node, the number of a child, and the labels of a path by node."""

    node: int
    number: int
    is_on_path: Callable[[int], bool]


Candidates = Callable[[NodeArrays, Step], Iterator[int]]


def children(arrays: NodeArrays, node: int) -> Iterator[int]:
    """The children from left to right."""
    child, end = node + 1, arrays.ends[node]
    while child < end:
        yield child
        child = arrays.ends[child]


def next_sister(arrays: NodeArrays, node: int) -> int:
    """The sister to the right, or -1."""
    parent, sister = arrays.parents[node], arrays.ends[node]
    return sister if parent >= 0 and sister < arrays.ends[parent] else -1


def chain(node: int, step: Callable[[int], int]) -> Iterator[int]:
    """The node and those that `step` reaches from it, until -1."""
    while node >= 0:
        yield node
        node = step(node)


def _first_child(arrays: NodeArrays) -> Callable[[int], int]:
    return lambda node: node + 1 if arrays.ends[node] > node + 1 else -1


def _only_child(arrays: NodeArrays) -> Callable[[int], int]:
    return lambda node: node + 1 if arrays.ends[node] > node + 1 == arrays.last_children[node] else -1


def _parent_if(arrays: NodeArrays, condition: Callable[[int, int], bool]) -> Callable[[int], int]:
    """A step to the parent, if the condition holds for the parent and the node."""

    def step(node: int) -> int:
        parent = arrays.parents[node]
        return parent if parent >= 0 and condition(parent, node) else -1

    return step


def _following(arrays: NodeArrays, node: int) -> int:
    """The highest node that starts where the subtree ends, or -1."""
    return arrays.ends[node] if arrays.ends[node] < arrays.end else -1


def _preceding(arrays: NodeArrays, node: int) -> int:
    """The highest node that ends where the subtree starts, or -1."""
    while node >= 0 and arrays.previous[node] < 0:
        node = arrays.parents[node]
    return arrays.previous[node] if node >= 0 else -1


def _ancestors_from_root(arrays: NodeArrays, node: int) -> list[int]:
    """The node and its ancestors, the highest first."""
    return list(chain(node, arrays.parents.__getitem__))[::-1]


def _precedes(arrays: NodeArrays, step: Step) -> Iterator[int]:
    """All nodes after the subtree; the sisters of the highest ancestor come first."""
    for ancestor in _ancestors_from_root(arrays, step.node):
        parent = arrays.parents[ancestor]
        yield from range(arrays.ends[ancestor], arrays.ends[parent] if parent >= 0 else arrays.ends[ancestor])


def _follows(arrays: NodeArrays, step: Step) -> Iterator[int]:
    """All nodes before the subtree except ancestors; the sisters of the highest ancestor come first."""
    for ancestor in _ancestors_from_root(arrays, step.node):
        for sister in chain(arrays.previous[ancestor], arrays.previous.__getitem__):
            yield from range(sister, arrays.ends[sister])


def _sisters(arrays: NodeArrays, step: Step) -> Iterator[int]:
    parent = arrays.parents[step.node]
    return (child for child in children(arrays, parent) if child != step.node) if parent >= 0 else iter(())


def _right_sisters(arrays: NodeArrays, step: Step) -> Iterator[int]:
    return reversed(list(chain(next_sister(arrays, step.node), lambda node: next_sister(arrays, node))))


def _left_sisters(arrays: NodeArrays, step: Step) -> Iterator[int]:
    return reversed(list(chain(arrays.previous[step.node], arrays.previous.__getitem__)))


def _numbered_child(arrays: NodeArrays, node: int, number: int) -> int:
    """The child with this number, from the left or, if negative, from the right; -1 if there is none."""
    steps = abs(number) - 1
    siblings = children(arrays, node) if number > 0 else chain(arrays.last_children[node], arrays.previous.__getitem__)
    return next((child for count, child in enumerate(siblings) if count == steps), -1)


def _child_number(arrays: NodeArrays, step: Step) -> Iterator[int]:
    return _one(_numbered_child(arrays, step.node, step.number))


def _number_of_child(arrays: NodeArrays, step: Step) -> Iterator[int]:
    parent = arrays.parents[step.node]
    if parent >= 0 and _numbered_child(arrays, parent, step.number) == step.node:
        yield parent


def _path_down(arrays: NodeArrays, step: Step) -> Iterator[int]:
    """Descendants through nodes of the path, in pre-order."""
    stack = list(children(arrays, step.node))[::-1]
    while stack:
        node = stack.pop()
        yield node
        if step.is_on_path(node):
            stack += list(children(arrays, node))[::-1]


def _path_up(arrays: NodeArrays, step: Step) -> Iterator[int]:
    return chain(arrays.parents[step.node], lambda node: arrays.parents[node] if step.is_on_path(node) else -1)


def _path_across(arrays: NodeArrays, step: Step, neighbor: Callable[[NodeArrays, int], int]) -> Iterator[int]:
    """Nodes that neighbors on the path reach, each once; the last one that was reached comes first.

    From a neighbor the search goes down to first children, also to the left of the node: so does Tregex.
    """
    reached: dict[int, None] = {}
    stack = [neighbor(arrays, step.node)]
    while stack:
        node = stack.pop()
        if node < 0:
            continue
        stack.append(node + 1 if arrays.ends[node] > node + 1 else -1)
        if node not in reached and step.is_on_path(node):
            stack.append(neighbor(arrays, node))
        reached.setdefault(node)
    return reversed(list(reached))


def _one(node: int) -> Iterator[int]:
    return iter((node,) if node >= 0 else ())


# the order gives the numbers of the relations in the compiled matcher
RELATIONS: dict[str, Candidates] = {
    "==": lambda arrays, step: _one(step.node),
    "<": lambda arrays, step: children(arrays, step.node),
    ">": lambda arrays, step: _one(arrays.parents[step.node]),
    "<<": lambda arrays, step: iter(range(step.node + 1, arrays.ends[step.node])),
    ">>": lambda arrays, step: chain(arrays.parents[step.node], arrays.parents.__getitem__),
    "$": _sisters,
    "$++": _right_sisters,
    "$--": _left_sisters,
    "$+": lambda arrays, step: _one(next_sister(arrays, step.node)),
    "$-": lambda arrays, step: _one(arrays.previous[step.node]),
    "..": _precedes,
    ",,": _follows,
    ".": lambda arrays, step: chain(_following(arrays, step.node), _first_child(arrays)),
    ",": lambda arrays, step: chain(_preceding(arrays, step.node), arrays.last_children.__getitem__),
    "<<,": lambda arrays, step: chain(_first_child(arrays)(step.node), _first_child(arrays)),
    "<<-": lambda arrays, step: chain(arrays.last_children[step.node], arrays.last_children.__getitem__),
    ">>,": lambda arrays, step: _climb(arrays, step, lambda parent, node: node == parent + 1),
    ">>-": lambda arrays, step: _climb(arrays, step, lambda parent, node: arrays.last_children[parent] == node),
    "<i": _child_number,
    ">i": _number_of_child,
    "<:": lambda arrays, step: _one(_only_child(arrays)(step.node)),
    ">:": lambda arrays, step: _one(_parent_if(arrays, lambda parent, _: _only_child(arrays)(parent) >= 0)(step.node)),
    "<<:": lambda arrays, step: chain(_only_child(arrays)(step.node), _only_child(arrays)),
    ">>:": lambda arrays, step: _climb(arrays, step, lambda parent, _: _only_child(arrays)(parent) >= 0),
    "<#": lambda arrays, step: _one(arrays.heads[step.node]),
    ">#": lambda arrays, step: _one(_parent_if(arrays, lambda parent, node: arrays.heads[parent] == node)(step.node)),
    "<<#": lambda arrays, step: chain(arrays.heads[step.node], arrays.heads.__getitem__),
    ">>#": lambda arrays, step: _climb(arrays, step, lambda parent, node: arrays.heads[parent] == node),
    "<=": lambda arrays, step: iter((step.node, *children(arrays, step.node))),
    ":": lambda arrays, step: iter(range(arrays.start, arrays.end)),
    "<+": _path_down,
    ">+": _path_up,
    ".+": lambda arrays, step: _path_across(arrays, step, _following),
    ",+": lambda arrays, step: _path_across(arrays, step, _preceding),
}
HEAD_RELATIONS = frozenset(("<#", ">#", "<<#", ">>#"))


def _climb(arrays: NodeArrays, step: Step, condition: Callable[[int, int], bool]) -> Iterator[int]:
    """The ancestors while the condition holds for each parent and child."""
    parent_if = _parent_if(arrays, condition)
    return chain(parent_if(step.node), parent_if)
