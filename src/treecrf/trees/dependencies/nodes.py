"""Nodes of a tree that conversion to dependencies may regroup."""

from collections.abc import Iterator

from treecrf.trees.search.labels import basic_category
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.escapes import unescape_brackets

PUNCTUATION_TAGS = frozenset(
    [",", ".", ":", "``", "''", "-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-", "HYPH", "NFP"]
)
VERB_TAGS = frozenset(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"))
NOUN_TAGS = frozenset(("NN", "NNS", "NNP", "NNPS", "ADD", "NML", "NX", "NAC"))
_APOSTROPHES = str.maketrans("’‘ʼ", "'''")


class Node:
    """A constituent, or a word with its tag as the label.

    `head` is the number of the head word, and `subject` that of a clause's subject, when the constituent has been
    converted. `conjuncts` are the children of a coordination that the first of them heads.
    """

    __slots__ = ("children", "conjuncts", "head", "is_passive", "is_punctuation", "label", "parent", "subject", "text")

    def __init__(self, label: str, children: "list[Node]", *, head: int = -1, text: str = "") -> None:
        self.label = label
        self.children = children
        self.head = head
        self.text = text  # of a word, in lower case
        self.parent: Node | None = None
        self.subject = -1
        self.is_passive = False
        self.conjuncts: list[Node] = []
        self.is_punctuation: bool = label in PUNCTUATION_TAGS
        if children:
            self.is_punctuation = all(child.is_punctuation for child in children)
        for child in children:
            child.parent = self

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a word."""
        return bool(self.text)

    @property
    def items(self) -> "list[Node]":
        """The children without punctuation."""
        return [child for child in self.children if not child.is_punctuation]

    @property
    def first_item(self) -> "Node":
        """The first child that is not punctuation, or the node itself if there is none."""
        return next(iter(self.items), self)

    def leaves(self) -> "list[Node]":
        """The words, left to right."""
        leaves: list[Node] = []
        stack = [self]
        while stack:
            node = stack.pop()
            if node.text:
                leaves.append(node)
            stack += reversed(node.children)
        return leaves

    def replace_children(self, children: "list[Node]") -> None:
        """Replaces the children, for example by groups of them."""
        self.children = children
        for child in children:
            child.parent = self

    def remove(self) -> None:
        """Removes the node, and ancestors that lose their last child."""
        node = self
        for parent in self.ancestors():
            if node is self or not (node.children or node.is_leaf):
                parent.children = [child for child in parent.children if child is not node]
            parent.is_punctuation = all(child.is_punctuation for child in parent.children)
            node = parent

    def ancestors(self) -> "Iterator[Node]":
        """The nodes above, from the parent upward."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def build_nodes(tree: Tree) -> Node:
    """Copies a tree into nodes, with categories as labels: NP-SBJ becomes NP."""
    source = list(tree.walk())
    word = sum(node.is_leaf for node in source)
    finished: list[Node] = []  # nodes whose parent is not finished, from right to left
    for node in reversed(source):
        if node.is_leaf:
            word -= 1
            text = unescape_brackets(node.words[0]).lower().translate(_APOSTROPHES)
            finished.append(Node(basic_category(node.label), [], head=word, text=text or "_"))
        else:
            finished.append(Node(basic_category(node.label), [finished.pop() for _ in node.child_trees]))
    return finished[0]


def first_word(node: Node) -> Node:
    """The first word of a constituent that is not punctuation."""
    return next((leaf for leaf in node.leaves() if not leaf.is_punctuation), node)


def in_postorder(root: Node) -> list[Node]:
    """All nodes, children before parents."""
    nodes: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        stack += node.children
    nodes.reverse()
    return nodes
