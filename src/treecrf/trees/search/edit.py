"""Mutable trees, which surgery changes."""

from collections.abc import Iterator
from typing import Any, cast

from treecrf.trees.search.errors import SurgeryError
from treecrf.trees.tree import Tree


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
