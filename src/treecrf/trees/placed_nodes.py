"""The nodes of a tree with their parents and their positions in the sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treecrf.trees.tree import Tree


@dataclass(eq=False, slots=True)
class PlacedNode:
    """A node over `words[start:end]`; an empty element, or a constituent of empty elements, has no words."""

    tree: Tree
    parent: PlacedNode | None
    start: int = 0
    end: int = 0
    children: list[PlacedNode] = field(default_factory=list)

    def ancestors(self) -> Iterator[PlacedNode]:
        """The parent, its parent, and so on."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def place_nodes(tree: Tree) -> list[PlacedNode]:
    """The nodes of `walk()`, parents before children.

    >>> nodes = place_nodes(Tree.parse("(S (NP-SBJ (-NONE- *)) (VP (VB Go)))"))
    >>> [(node.tree.label, node.start, node.end) for node in nodes]
    [('S', 0, 1), ('NP-SBJ', 0, 0), ('-NONE-', 0, 0), ('VP', 0, 1), ('VB', 0, 1)]
    """
    nodes: list[PlacedNode] = []
    stack = [PlacedNode(tree, None)]
    words = 0
    while stack:
        node = stack.pop()
        nodes.append(node)
        node.start = words
        words += node.tree.is_leaf and not node.tree.is_empty
        node.children = [PlacedNode(child, node) for child in node.tree.child_trees]
        stack += reversed(node.children)
    for node in reversed(nodes):
        is_word = node.tree.is_leaf and not node.tree.is_empty
        node.end = node.children[-1].end if node.children else node.start + is_word
    return nodes
