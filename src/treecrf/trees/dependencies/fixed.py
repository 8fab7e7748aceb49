"""Fixed expressions: several words that act as one function word or adverb, such as "because of"."""

from treecrf.trees.dependencies.lexicon import FIXED, FIXED_INSIDE
from treecrf.trees.dependencies.units import Unit

_LONGEST = max(map(len, FIXED))


def merge_fixed_expressions(root: Unit) -> list[tuple[int, int]]:
    """Removes the later words of fixed expressions from the tree, and returns their numbers, each with its head.

    The first word keeps its place and gets the tag of the whole expression.
    """
    leaves = [leaf for leaf in root.leaves() if not leaf.is_punctuation]
    arcs: list[tuple[int, int]] = []
    start = 0
    while start < len(leaves):
        size = _expression_size(leaves, start)
        for leaf in leaves[start + 1 : start + size]:
            arcs.append((leaf.head, leaves[start].head))
            leaf.remove()
        if size > 1:
            _relabel(leaves[start], FIXED[tuple(leaf.text for leaf in leaves[start : start + size])].split()[0])
        start += size
    return arcs


def _relabel(leaf: Unit, tag: str) -> None:
    """Gives an expression its tag; a phrase with a fixed preposition is a prepositional phrase."""
    leaf.label = tag
    parent = leaf.parent
    if tag == "IN" and parent is not None and parent.label in ("ADJP", "ADVP"):
        parent.label = "PP"


def _expression_size(leaves: list[Unit], start: int) -> int:
    """The number of words in the longest expression that starts here; 1 if there is none."""
    for size in range(min(_LONGEST, len(leaves) - start), 1, -1):
        words = leaves[start : start + size]
        tag = FIXED.get(tuple(leaf.text for leaf in words))
        if tag is not None and _is_fixed(words, tag, leaves[start + size : start + size + 1]):
            return size
    return 1


def _is_fixed(words: list[Unit], tag: str, next_leaf: list[Unit]) -> bool:
    """Whether the words form a unit in this tree: sisters, or a preposition and the first word of its complement."""
    parent = words[0].parent
    texts = tuple(leaf.text for leaf in words)
    if parent is None or not all(_follows(leaf, parent) for leaf in words[1:]):
        return False
    if tag == "RB in QP":
        return parent.label == "QP" or (bool(next_leaf) and next_leaf[0].label == "CD")
    if texts in (("kind", "of"), ("sort", "of"), ("all", "but")):
        return parent.label == "ADVP" or words[0].label == "RB"
    if texts == ("at", "least"):
        return parent.label != "QP" and not (next_leaf and next_leaf[0].label == "CD")
    return texts not in FIXED_INSIDE or parent.label in FIXED_INSIDE[texts].split()


def _follows(leaf: Unit, parent: Unit) -> bool:
    """Whether a word is a child of the same constituent, or the first word of one of its children."""
    if leaf.parent is parent:
        return True
    grandparent = leaf.parent.parent if leaf.parent is not None else None
    return leaf.parent is not None and grandparent is parent and leaf.parent.children[0] is leaf
