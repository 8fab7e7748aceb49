"""Tsurgeon's operations on mutable trees. Each one changes the tree in place."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from treecrf.trees.search.tokens import SurgeryError, to_int
from treecrf.trees.tree import Tree

MAX_ADDED_NODES = 100_000  # in one tree
MAX_ADDED_CHARACTERS = 1_000_000  # in the labels of one tree
_INDEX = re.compile(r".-([0-9]{1,18})$")
# $1, ={name}, %{variable} or an escaped character in a replacement
REPLACEMENT = re.compile(r"\$([0-9]+)|=\{([^}]*)\}|%\{([^}]*)\}|\\(.)", re.DOTALL)


class EditNode:
    """A constituent or a word, with its parent and its children."""

    __slots__ = ("children", "is_word", "label", "parent")

    def __init__(self, label: str, children: "list[EditNode]", *, is_word: bool = False) -> None:
        self.label = label
        self.is_word = is_word
        self.parent: EditNode | None = None
        self.children: list[EditNode] = []
        self.set_children(children)

    def set_children(self, children: "list[EditNode]") -> None:
        """Takes over the children of another node."""
        self.children = children
        for child in children:
            child.parent = self

    def insert(self, index: int, node: "EditNode") -> None:
        self.children.insert(index, node)
        node.parent = self

    def index(self) -> int:
        return next(index for index, sibling in enumerate(self.siblings()) if sibling is self)

    def siblings(self) -> "list[EditNode]":
        return [self] if self.parent is None else self.parent.children

    def remove(self) -> "EditNode | None":
        """Removes the node from its parent, and returns the parent; None at the root."""
        parent = self.parent
        if parent is not None:
            del parent.children[self.index()]
            self.parent = None
        return parent

    def walk(self) -> "Iterator[EditNode]":
        """Every node in pre-order, as in a `Forest`."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += node.children[::-1]

    def ancestors(self) -> "Iterator[EditNode]":
        node: EditNode | None = self
        while node is not None:
            yield node
            node = node.parent

    def copy_with_map(self) -> "tuple[EditNode, dict[int, EditNode]]":
        """A copy of the subtree, and the copies by the identity of their originals."""
        copies: dict[int, EditNode] = {}
        for node in reversed(list(self.walk())):
            children = [copies[id(child)] for child in node.children]
            copies[id(node)] = EditNode(node.label, children, is_word=node.is_word)
        return copies[id(self)], copies


def to_edit_nodes(tree: Tree) -> list[EditNode]:
    """Copies a tree into mutable nodes, and returns them in pre-order."""
    copies: list[EditNode] = []  # copies whose parent is not copied, from right to left
    for node in reversed(list(tree.walk())):
        children = [EditNode(word, [], is_word=True) for word in node.children if isinstance(word, str)]
        copies.append(EditNode(node.label, children or [copies.pop() for _ in node.children]))
    return list(copies[0].walk())


def to_tree(root: EditNode) -> Tree:
    """Builds the tree; an error if a constituent is empty or has words beside other children."""
    finished: dict[int, Any] = {}
    for node in reversed(list(root.walk())):
        if node.is_word:
            finished[id(node)] = node.label
            continue
        words = [child.label for child in node.children if child.is_word]
        if not node.children:
            raise SurgeryError(f"{node.label!r} has no children left; remove such nodes with prune instead of delete")
        if words and len(node.children) > 1:
            raise SurgeryError(f"the word {words[0]!r} has sisters below {node.label!r}; a word needs a tag of its own")
        finished[id(node)] = Tree(node.label, tuple(finished[id(child)] for child in node.children))
    if root.is_word:
        raise SurgeryError(f"the tree would be the word {root.label!r} alone; a tree needs a tag above each word")
    return cast(Tree, finished[id(root)])


@dataclass
class Growth:
    """The nodes and the characters of labels that surgeries may still add to a tree."""

    nodes: int = MAX_ADDED_NODES
    characters: int = MAX_ADDED_CHARACTERS


@dataclass
class EditState:
    """A tree under surgery: its root, or None if it was deleted, the nodes with names, and the variables."""

    root: EditNode | None
    names: dict[str, EditNode]
    variables: dict[str, str]
    growth: Growth

    def add(self, label: str, *, nodes: int = 0) -> str:
        """Returns a new label; an error if the tree grows by too much."""
        self.growth.nodes -= nodes
        self.growth.characters -= len(label)
        if self.growth.nodes < 0 or self.growth.characters < 0:
            limits = f"{MAX_ADDED_NODES:,} nodes or {MAX_ADDED_CHARACTERS:,} characters"
            raise SurgeryError(f"the operations add more than {limits} to one tree; its pattern matches their result")
        return label

    def copy(self, node: EditNode) -> tuple[EditNode, dict[int, EditNode]]:
        for original in node.walk():
            self.add(original.label, nodes=1)
        return node.copy_with_map()

    def node(self, name: str) -> EditNode:
        if name not in self.names:
            raise SurgeryError(f"this match has no node {name!r}; write the operation as: if exists {name} ...")
        return self.names[name]

    def replace(self, old: EditNode, new: list[EditNode], last: EditNode | None = None) -> None:
        """Puts nodes into the place of a node, or of the sisters from it to a last one."""
        parent = old.parent
        if parent is not None:
            start, end = sorted((old.index(), (last or old).index()))
            parent.set_children([*parent.children[:start], *new, *parent.children[end + 1 :]])
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
        """Copies the tree; its names become names of the tree under surgery."""
        root, copies = state.copy(self.root)
        names = {name: copies[id(node)] for name, node in self.names.items()}
        state.names.update(names)
        return AuxiliaryTree(root, self.foot and copies[id(self.foot)], names)


Operation = Callable[[EditState], None]
Source = str | AuxiliaryTree  # the name of a node, or a tree


def copy_source(source: Source, state: EditState) -> EditNode:
    """Copies the node with a name, or a tree."""
    return state.copy(state.node(source))[0] if isinstance(source, str) else source.copy_into(state).root


class Location(NamedTuple):
    """A place in a tree: before (`$+`) or after (`$-`) a node, or the number of a child (`>i`) of it."""

    relation: str
    number: int
    name: str

    def insert(self, new: EditNode, state: EditState) -> None:
        """Inserts a node at the place."""
        node = state.node(self.name)
        if self.relation == ">":
            count = len(node.children)
            index = self.number - 1 if self.number > 0 else count + self.number + 1
            if not 0 <= index <= count:
                raise SurgeryError(f"{node.label!r} has {count} children; a new one cannot have number {self.number}")
            node.insert(index, new)
        elif node.parent is None:
            raise SurgeryError(f"{self.name} is the root {node.label!r}, which cannot have a sister")
        else:
            node.parent.insert(node.index() + (self.relation == "$-"), new)


def delete(names: list[str], state: EditState, *, prunes: bool = False) -> None:
    """Deletes nodes with everything below; `prunes` also deletes ancestors that have no children left."""
    for name in names:
        parent = state.remove(state.node(name))
        if prunes:
            prune(parent, state)


def prune(node: EditNode | None, state: EditState) -> None:
    """Removes a node without children, and the ancestors that have none after that."""
    while node is not None and not node.children:
        node = state.remove(node)


def excise(top_name: str, bottom_name: str, state: EditState) -> None:
    """Removes the nodes from the top down to the bottom; the children of the bottom take the place of the top."""
    top, bottom = state.node(top_name), state.node(bottom_name)
    if not any(node is top for node in bottom.ancestors()):
        raise SurgeryError(f"excise: {top_name} ({top.label!r}) does not dominate {bottom_name} ({bottom.label!r})")
    state.replace(top, list(bottom.children))


def relabel(name: str, label: str, state: EditState) -> None:
    state.node(name).label = state.add(label)


def replace_in_label(name: str, regex: re.Pattern[str], replacement: str, state: EditState) -> None:
    """Replaces every match of a regular expression in a node's label."""
    node = state.node(name)

    def replaced(match: re.Match[str]) -> str:
        state.add(replacement)
        return REPLACEMENT.sub(lambda part: state.add(_replacement_text(part, match, state)), replacement)

    node.label = regex.sub(replaced, node.label)


def _replacement_text(part: re.Match[str], match: re.Match[str], state: EditState) -> str:
    number, name, variable, escaped = part.groups()
    if number:
        return match[to_int(number)] or ""
    if name:
        return state.node(name).label
    return state.variables.get(variable, "") if variable else escaped or ""


def insert(source: Source, location: Location, state: EditState) -> None:
    """Inserts a tree, or a copy of a node, at a place."""
    location.insert(copy_source(source, state), state)


def move(name: str, location: Location, state: EditState, *, prunes: bool = False) -> None:
    """Moves a node to a place; `prunes` also prunes its old parent."""
    node = state.node(name)
    if any(ancestor is node for ancestor in state.node(location.name).ancestors()):
        raise SurgeryError(f"move: {location.name} is {name} or is inside of it")
    old_parent = state.remove(node)
    location.insert(node, state)
    if prunes:
        prune(old_parent, state)


def replace(name: str, sources: list[Source], state: EditState) -> None:
    """Replaces a node with a copy of another node, or with trees."""
    copies = [copy_source(source, state) for source in sources]
    state.replace(state.node(name), copies)


def create_subtree(auxiliary: AuxiliaryTree, first_name: str, last_name: str, state: EditState) -> None:
    """Puts a node, or sisters from one to another, below the foot of a tree."""
    first, last = state.node(first_name), state.node(last_name)
    if first.parent is not last.parent:
        names = f"{first_name} ({first.label!r}) and {last_name} ({last.label!r})"
        raise SurgeryError(f"createSubtree: {names} are no sisters")
    tree = auxiliary.copy_into(state)
    start, end = sorted((first.index(), last.index()))
    nodes = first.siblings()[start : end + 1]
    state.replace(first, [tree.root], last)
    (tree.foot or tree.root).set_children(nodes)


def adjoin(auxiliary: AuxiliaryTree, name: str, state: EditState, *, keeps: str = "") -> None:
    """Adjoins an auxiliary tree to a node, whose children go below the foot.

    The node disappears; with `keeps` "head" it becomes the root of the tree, with "foot" the foot.
    """
    node = state.node(name)
    tree = auxiliary.copy_into(state)
    assert tree.foot is not None  # the parser requires one
    if keeps == "head":
        children, node.children = node.children, []
        node.set_children(tree.root.children)
        (node if tree.foot is tree.root else tree.foot).set_children(children)
    elif keeps == "foot":
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


def coindex(names: list[str], state: EditState) -> None:
    """Appends one new index, such as -3, to the labels of nodes."""
    assert state.root is not None
    matches = (_INDEX.search(node.label) for node in state.root.walk())
    index = 1 + max((int(match[1]) for match in matches if match), default=0)
    for name in names:
        state.node(name).label += state.add(f"-{index}")


def if_exists(name: str, operations: list[Operation], state: EditState) -> None:
    """Applies operations if the match has a node with a name."""
    if name in state.names:
        apply_all(operations, state)


def apply_all(operations: list[Operation], state: EditState) -> None:
    """Applies operations in turn, until one deletes the tree."""
    for operation in operations:
        if state.root is None:
            return
        operation(state)
