"""Units of a sentence, which conversion to dependencies regroups: words and constituents; and the arcs of words."""

from collections.abc import Collection, Iterator, Sequence

from treecrf.trees.dependencies.lexicon import UNIVERSAL_TAGS
from treecrf.trees.notation import unescape_brackets
from treecrf.trees.search.labels import basic_category
from treecrf.trees.tree import Tree

PUNCTUATION_TAGS = frozenset(tag for tag, universal in UNIVERSAL_TAGS.items() if universal == "PUNCT")
VERB_TAGS = frozenset(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"))
NOUN_TAGS = frozenset(("NN", "NNS", "NNP", "NNPS", "ADD", "NML", "NX", "NAC"))
_APOSTROPHES = str.maketrans("’‘ʼ", "'''")


_COMPARATIVES = {"RBR": "ADVP", "JJR": "ADJP"}


class Unit:
    """A constituent, or a word with its tag as the label.

    `functions` are in its label. A verb phrase with the trace of its subject as the object is passive. Conversion
    sets `head`, the number of the head word, `is_passive`, and `subject`, the number of a clause's subject.
    `conjuncts` are the children of a coordination; the first of them is its head.
    """

    __slots__ = (
        *("children", "conjuncts", "functions", "head", "is_passive", "is_punctuation", "label", "parent", "subject"),
        "text",
    )

    def __init__(
        self, label: str, children: "list[Unit]", *, conjuncts: "Sequence[Unit]" = (), head: int = -1, text: str = ""
    ) -> None:
        self.label = label
        self.functions: tuple[str, ...] = ()
        self.head = head
        self.text = text  # the word, in lower case
        self.parent: Unit | None = None
        self.subject = -1
        self.is_passive = False
        marks = [child.is_punctuation for child in children]
        self.is_punctuation: bool = all(marks) if marks else label in PUNCTUATION_TAGS
        self.regroup(children, conjuncts)

    @property
    def is_leaf(self) -> bool:
        """Whether the unit is a word."""
        return bool(self.text)

    @property
    def items(self) -> "list[Unit]":
        """The children without punctuation."""
        return [child for child in self.children if not child.is_punctuation]

    @property
    def first_item(self) -> "Unit":
        """The first child that is not punctuation, or the unit itself if there is none."""
        return next(iter(self.items), self)

    def is_before(self, other: "Unit") -> bool:
        """Whether the head word stands before the head word of another unit."""
        return self.head < other.head

    def leaves(self) -> "list[Unit]":
        """The words, left to right."""
        leaves: list[Unit] = []
        stack = [self]
        while stack:
            unit = stack.pop()
            if unit.text:
                leaves.append(unit)
            stack += reversed(unit.children)
        return leaves

    def regroup(self, children: "list[Unit]", conjuncts: "Sequence[Unit]") -> None:
        """Replaces the children by groups of them."""
        self.children = children
        self.conjuncts = conjuncts
        for child in children:
            child.parent = self

    def relabeled(self, label: str) -> "Unit":
        """The same word with another tag; punctuation stays punctuation."""
        word = Unit(label, [], head=self.head, text=self.text)
        word.is_punctuation = self.is_punctuation
        return word

    def remove(self) -> None:
        """Removes the unit, and ancestors that lose their last child."""
        unit = self
        for parent in self.ancestors():
            if unit is self or not (unit.children or unit.is_leaf):
                parent.children = [child for child in parent.children if child is not unit]
            parent.is_punctuation = all(child.is_punctuation for child in parent.children)
            unit = parent

    def ancestors(self) -> "Iterator[Unit]":
        """The units above, from the parent upward."""
        unit = self.parent
        while unit is not None:
            yield unit
            unit = unit.parent


def build_units(tree: Tree) -> Unit:
    """Copies a tree into units, with categories as labels and without empty elements: NP-SBJ becomes NP."""
    source = list(tree.walk())
    word = sum(node.is_leaf and not node.is_empty for node in source)
    finished: list[Unit | None] = []  # units whose parent is not finished, from right to left; None has no words
    for node in reversed(source):
        if node.is_empty:
            finished.append(None)
        elif node.is_leaf:
            word -= 1
            text = unescape_brackets(node.words[0]).lower().translate(_APOSTROPHES)
            finished.append(Unit(basic_category(node.label), [], head=word, text=text or "_"))
        else:
            children = [unit for _ in node.child_trees if (unit := finished.pop())]
            finished.append(_build_constituent(node, children) if children else None)
    root = finished[0]
    assert root is not None, "a sentence has words"
    return root


def _build_constituent(node: Tree, children: list[Unit]) -> Unit:
    label = _COMPARATIVES.get(children[-1].label) if node.label == "X" else None  # the more you eat
    unit = Unit(label or basic_category(node.label), children)
    unit.functions = node.functions
    unit.is_passive = unit.label == "VP" and any(map(_is_passive_trace, node.child_trees))
    return unit


def _is_passive_trace(node: Tree) -> bool:
    (child, *others) = node.child_trees or (node,)
    return node.category == "NP" and not others and child.kind == "*"


def first_word(unit: Unit) -> Unit:
    """The first word of a constituent that is not punctuation."""
    return next((leaf for leaf in unit.leaves() if not leaf.is_punctuation), unit)


def positions(units: Sequence[Unit], labels: Collection[str]) -> list[int]:
    """The positions of the units with one of the labels."""
    return [position for position, unit in enumerate(units) if unit.label in labels]


def in_postorder(root: Unit) -> list[Unit]:
    """All units, children before parents."""
    units = [root]
    for unit in units:
        units += unit.children
    return units[::-1]


class Arcs:
    """The head and the relation of each word; the head of a word that is not attached is -1."""

    def __init__(self, words: int) -> None:
        self.heads = [-1] * words
        self.relations = ["dep"] * words

    def attach(self, word: int, head: int, relation: str) -> None:
        """Makes `head` the head of a word; a word is not attached to itself."""
        if word != head:
            self.heads[word] = head
            self.relations[word] = relation

    def dependents(self, head: int) -> list[int]:
        """The words whose head is `head`."""
        return [word for word, word_head in enumerate(self.heads) if word_head == head]

    def promote(self, word: int, head: int, relation: str) -> None:
        """Makes a word the head of `head` and of its dependents; `head` gets the relation to the word."""
        for dependent in self.dependents(head):
            self.attach(dependent, word, self.relations[dependent])
        self.heads[word] = -1
        self.attach(head, word, relation)
