"""Tsurgeon's operations on mutable trees. Each one changes the tree in place."""

import re
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from treecrf.trees.search.edit import EditNode
from treecrf.trees.search.errors import SurgeryError

_INDEX = re.compile(r".-([0-9]+)$")
# $1, ={name}, %{variable}, an escaped character, or any other character of a replacement
_REPLACEMENT = re.compile(r"\$([0-9]+)|=\{([^}]*)\}|%\{([^}]*)\}|\\(.)|(.)", re.DOTALL)


class EditState:
    """A tree under surgery: its root, or None if it was deleted, the nodes with names, and the variables."""

    def __init__(self, root: EditNode, names: dict[str, EditNode], variables: dict[str, str]) -> None:
        self.root: EditNode | None = root
        self.names = names
        self.variables = variables

    def node(self, name: str) -> EditNode:
        if name not in self.names:
            raise SurgeryError(f"this match has no node {name!r}; write the operation as: if exists {name} ...")
        return self.names[name]

    def replace(self, old: EditNode, new: list[EditNode]) -> None:
        """Puts nodes into the place of a node."""
        parent = old.parent
        if parent is not None:
            index = old.index()
            parent.set_children([*parent.children[:index], *new, *parent.children[index + 1 :]])
            old.parent = None
        elif len(new) == 1:
            self.root = new[0]
            new[0].parent = None
        else:
            raise SurgeryError(f"{len(new)} nodes cannot replace the root {old.label!r}; a tree has one root")

    def remove(self, node: EditNode) -> EditNode | None:
        """Removes a node, and returns its parent."""
        if node is self.root:
            self.root = None
        return node.remove()


class AuxiliaryTree(NamedTuple):
    """A tree of an operation, with its foot and its nodes with names."""

    root: EditNode
    foot: EditNode | None
    names: dict[str, EditNode]

    def copy_into(self, state: EditState) -> "AuxiliaryTree":
        """A copy of the tree; its names become names of the tree under surgery."""
        root, copies = self.root.copy_with_map()
        names = {name: copies[id(node)] for name, node in self.names.items()}
        state.names.update(names)
        return AuxiliaryTree(root, self.foot and copies[id(self.foot)], names)


class Operation(Protocol):
    """An operation of surgery."""

    def apply(self, state: EditState) -> None: ...


class Location(NamedTuple):
    """A place in a tree: before (`$+`) or after (`$-`) a node, or the number of a child (`>i`) of it."""

    relation: str
    number: int
    name: str

    def find(self, state: EditState) -> tuple[EditNode, int]:
        """The parent and the number of the new child."""
        node = state.node(self.name)
        if self.relation == ">":
            count = len(node.children)
            index = self.number - 1 if self.number > 0 else count + self.number + 1
            if not 0 <= index <= count:
                raise SurgeryError(f"{node.label!r} has {count} children; a new one cannot have number {self.number}")
            return node, index
        if node.parent is None:
            raise SurgeryError(f"{self.name} is the root {node.label!r}, which cannot have a sister")
        return node.parent, node.index() + (self.relation == "$-")


@dataclass(frozen=True)
class Delete:
    """Deletes nodes with everything below; `prune` also deletes ancestors that have no children left."""

    names: list[str]
    prunes: bool = False

    def apply(self, state: EditState) -> None:
        for name in self.names:
            parent = state.remove(state.node(name))
            if self.prunes:
                prune(state, parent)


def prune(state: EditState, node: EditNode | None) -> None:
    """Removes a node without children, and the ancestors that have none after that."""
    while node is not None and not node.children:
        node = state.remove(node)


@dataclass(frozen=True)
class Excise:
    """Removes the nodes from `top` down to `bottom`; the children of `bottom` take the place of `top`."""

    top: str
    bottom: str

    def apply(self, state: EditState) -> None:
        top, bottom = state.node(self.top), state.node(self.bottom)
        if not any(node is top for node in bottom.ancestors()):
            raise SurgeryError(f"excise: {self.top} ({top.label!r}) does not dominate {self.bottom} ({bottom.label!r})")
        state.replace(top, list(bottom.children))


@dataclass(frozen=True)
class Relabel:
    """Gives a node a new label."""

    name: str
    label: str

    def apply(self, state: EditState) -> None:
        state.node(self.name).label = self.label


@dataclass(frozen=True)
class ReplaceInLabel:
    """Replaces every match of a regular expression in a node's label."""

    name: str
    regex: re.Pattern[str]
    replacement: str

    def apply(self, state: EditState) -> None:
        node = state.node(self.name)
        node.label = self.regex.sub(lambda match: self._text(match, state), node.label)

    def _text(self, match: re.Match[str], state: EditState) -> str:
        pieces = []
        for number, name, variable, escaped, plain in _REPLACEMENT.findall(self.replacement):
            if number:
                pieces.append(match[int(number)] or "")
            elif name:
                pieces.append(state.node(name).label)
            elif variable:
                pieces.append(state.variables.get(variable, ""))
            else:
                pieces.append(escaped or plain)
        return "".join(pieces)


@dataclass(frozen=True)
class Insert:
    """Inserts a tree, or a copy of a node, at a place."""

    source: "str | AuxiliaryTree"
    location: Location

    def apply(self, state: EditState) -> None:
        node = state.node(self.source).copy() if isinstance(self.source, str) else self.source.copy_into(state).root
        parent, index = self.location.find(state)
        parent.insert(index, node)


@dataclass(frozen=True)
class Move:
    """Moves a node to a place; `moveprune` also prunes its old parent."""

    name: str
    location: Location
    prunes: bool = False

    def apply(self, state: EditState) -> None:
        node = state.node(self.name)
        if any(ancestor is node for ancestor in state.node(self.location.name).ancestors()):
            raise SurgeryError(f"move: {self.location.name} is {self.name} or is inside of it")
        old_parent = state.remove(node)
        parent, index = self.location.find(state)
        parent.insert(index, node)
        if self.prunes:
            prune(state, old_parent)


@dataclass(frozen=True)
class Replace:
    """Replaces a node with a copy of another node, or with trees."""

    name: str
    sources: "list[str | AuxiliaryTree]"

    def apply(self, state: EditState) -> None:
        copies = [
            state.node(source).copy() if isinstance(source, str) else source.copy_into(state).root
            for source in self.sources
        ]
        state.replace(state.node(self.name), copies)


@dataclass(frozen=True)
class CreateSubtree:
    """Puts a node, or sisters from one to another, below a new node, or below the foot of a tree."""

    tree: AuxiliaryTree
    first: str
    last: str

    def apply(self, state: EditState) -> None:
        first, last = state.node(self.first), state.node(self.last)
        if first.parent is not last.parent:
            names = f"{self.first} ({first.label!r}) and {self.last} ({last.label!r})"
            raise SurgeryError(f"createSubtree: {names} are no sisters")
        tree = self.tree.copy_into(state)
        foot = tree.foot or tree.root
        start, end = sorted((first.index(), last.index()))
        parent, nodes = first.parent, first.siblings()[start : end + 1]
        if parent is None:
            state.root = tree.root
        else:
            parent.set_children([*parent.children[:start], tree.root, *parent.children[end + 1 :]])
        foot.set_children(nodes)


@dataclass(frozen=True)
class Adjoin:
    """Adjoins an auxiliary tree to a node, whose children go below the foot.

    The node disappears; with `keeps` "head" it becomes the root of the tree, with "foot" the foot.
    """

    tree: AuxiliaryTree
    name: str
    keeps: str = ""

    def apply(self, state: EditState) -> None:
        node = state.node(self.name)
        tree = self.tree.copy_into(state)
        assert tree.foot is not None  # the parser requires one
        if self.keeps == "head":
            children, node.children = node.children, []
            node.set_children(tree.root.children)
            (node if tree.foot is tree.root else tree.foot).set_children(children)
        elif self.keeps == "foot":
            if tree.foot is not tree.root:
                state.replace(node, [tree.root])
                parent = tree.foot.parent
                assert parent is not None
                parent.set_children([node if child is tree.foot else child for child in parent.children])
        else:
            children = node.children
            state.replace(node, [tree.root])
            tree.foot.set_children(children)
            tree.foot.is_word = not children


@dataclass(frozen=True)
class Coindex:
    """Appends one new index, such as -3, to the labels of nodes."""

    names: list[str]

    def apply(self, state: EditState) -> None:
        assert state.root is not None
        matches = (_INDEX.search(node.label) for node in state.root.walk())
        index = 1 + max((int(match[1]) for match in matches if match), default=0)
        for name in self.names:
            state.node(name).label += f"-{index}"


@dataclass(frozen=True)
class IfExists:
    """Applies operations if the match has a node with a name."""

    name: str
    operations: "list[Operation]"

    def apply(self, state: EditState) -> None:
        if self.name in state.names:
            apply_all(self.operations, state)


def apply_all(operations: "list[Operation]", state: EditState) -> None:
    """Applies operations in turn, until one deletes the tree."""
    for operation in operations:
        if state.root is None:
            return
        operation.apply(state)
