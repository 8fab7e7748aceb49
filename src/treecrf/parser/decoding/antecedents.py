"""Antecedents of empty elements, as places relative to them.

A template is the brackets of an empty element in which the place of its antecedent stands for the index, such as
`(NP-SBJ (-NONE- *PRO*@<NP0))`. The place is a direction, a category and a number: the antecedent is the nearest (0),
second (1) ... constituent of this category to the left (<) or right (>) of the empty element or of a constituent that
contains it, or a constituent that contains it (^). To the right, the children of verb phrases count too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from treecrf.parser.decoding.constituents import Constituents, Empty, FullTrees
from treecrf.trees.notation import split_label
from treecrf.trees.tree import Tree, parse_trees

_SIGN = "@"
_PLACE = re.compile(r"[<>^].+[0-9]")
_MOST_CHARACTERS = 1000  # characters per template
MOST_DISTANT = 4  # antecedents that are further away have no template


class Node:
    """A constituent with words, a constituent that is inserted, or an empty element."""

    __slots__ = ("category", "children", "index", "number", "parent", "place", "start", "text")

    def __init__(self, category: str, parent: Node | None, start: int, *, number: int = -1, text: str = "") -> None:
        self.category = category
        self.parent = parent
        self.children: list[Node] = []
        self.start = start
        self.number = number  # a constituent with words has a number in its batch; others have -1
        self.text = text  # label of an inserted constituent, or kind of an empty element
        self.index: int | None = None
        self.place = ""  # the antecedent's place, in an empty element


class _Sentence(NamedTuple):
    """The constituents of a sentence with words, parents before children, and its insertions."""

    nodes: list[Node]
    insertions: list[tuple[Node, Empty]]  # the highest nodes without words


def index_antecedents(
    constituents: Constituents, labels: Sequence[str], templates: Iterable[Empty]
) -> tuple[list[str], list[Empty]]:
    """The labels and the empty elements of templates, with the same indices for elements and their antecedents."""
    labels, empties = list(labels), list[Empty]()
    for sentence in _insert_all(constituents, templates):
        count = 0
        for top, _ in sentence.insertions:
            for element in filter(lambda node: node.place, _elements(top)):
                antecedent = find_antecedent(top, element.place)
                if antecedent is None:
                    continue
                if antecedent.index is None:
                    count += 1
                    antecedent.index = count
                    if antecedent.number >= 0:
                        labels[antecedent.number] += f"-{count}"
                element.index = antecedent.index
        empties += [row._replace(brackets=_brackets(top)) for top, row in sentence.insertions]
    return labels, empties


def to_templates(trees: FullTrees, functions: Collection[str]) -> list[Empty]:
    """The empty elements as templates, with these functions; an antecedent whose place has no name gets none."""
    templates: list[Empty] = []
    for sentence in _insert_all(trees.constituents, trees.empties):
        for node in sentence.nodes:
            node.index = split_label(trees.labels[node.number]).index
        inserted = [node for top, _ in sentence.insertions for node in _walk(top) if node.children]
        antecedents = {node.index: node for node in reversed([*sentence.nodes, *inserted])}
        for top, row in sentence.insertions:
            for node in _walk(top):
                parts = split_label(node.text)
                node.text = "-".join([parts.category, *(name for name in parts.functions if name in functions)])
                if not node.children and node.index is not None and node.index in antecedents:
                    place = name_place(top, antecedents[node.index])
                    node.text += f"{_SIGN}{place}" if place else ""
            for node in _walk(top):
                node.index = None
            templates.append(row._replace(brackets=_brackets(top)))
    return templates


def check_template(text: str) -> str:
    """The same text, if it is nothing or the templates of empty elements, without words and escapes."""
    trees = list(parse_trees(text)) if len(text) <= _MOST_CHARACTERS else []
    kinds = [str(node.kind).partition(_SIGN) for tree in trees for node in tree.walk() if node.is_empty]
    is_right = text.isprintable() and "\\" not in text and bool(text) == bool(trees)
    is_right = is_right and all(_PLACE.fullmatch(place) for _, sign, place in kinds if sign)
    if not is_right or any(tree.words for tree in trees):
        raise ValueError(f"{text!r:.50} is no template of empty elements")
    return text


def _insert_all(constituents: Constituents, empties: Iterable[Empty]) -> Iterator[_Sentence]:
    """The sentences that have empty elements."""
    sentences, parents, starts = constituents.sentences, constituents.parents, constituents.starts
    categories = [*constituents.categories, split_label(constituents.root).category]  # the last one for -1
    by_sentence: dict[int, list[Empty]] = {}
    for empty in empties:
        by_sentence.setdefault(int(sentences[empty.constituent]), []).append(empty)
    for sentence, group in by_sentence.items():
        first, last = sentences.searchsorted([sentence, sentence + 1]).tolist()
        nodes: list[Node] = []
        rows = zip(*(column[first:last].tolist() for column in (parents, starts, constituents.ids)), strict=True)
        for number, (parent, start, category) in enumerate(rows, first):
            above = None if parent < 0 else nodes[parent - first]
            nodes.append(Node(categories[category], above, start, number=number))
            if above is not None:
                above.children.append(nodes[-1])
        tops = [(top, row) for row in group for top in _insert(nodes[row.constituent - first], row)]
        yield _Sentence(nodes, tops)


def _insert(parent: Node, empty: Empty) -> list[Node]:
    """Inserts the nodes of brackets, after those that stand already at their place."""
    tops = [_build(outline, parent, empty.position) for outline in _outlines(empty.brackets)]
    before = [child.start < empty.position + (child.number < 0) for child in parent.children]
    place = sum(before)
    parent.children[place:place] = tops
    return tops


@dataclass(frozen=True, slots=True)
class _Outline:
    """The attributes of a node that is inserted."""

    category: str
    text: str
    place: str
    index: int | None
    children: tuple[_Outline, ...]

    @staticmethod
    def of(tree: Tree) -> _Outline:
        if tree.is_empty:
            kind, _, place = str(tree.kind).partition(_SIGN)
            return _Outline("", kind, place, tree.index, ())
        return _Outline(tree.category, tree.label, "", tree.index, tuple(map(_Outline.of, tree.child_trees)))


@lru_cache(maxsize=1 << 12)
def _outlines(brackets: str) -> tuple[_Outline, ...]:
    return tuple(map(_Outline.of, parse_trees(brackets)))


def _build(outline: _Outline, parent: Node, position: int) -> Node:
    node = Node(outline.category, parent, position, text=outline.text)
    node.place, node.index = outline.place, outline.index
    node.children = [_build(child, node, position) for child in outline.children]
    return node


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _elements(top: Node) -> Iterator[Node]:
    """The empty elements below an inserted node, or the node itself."""
    return (node for node in _walk(top) if not node.children)


def _brackets(node: Node) -> str:
    suffix = "" if node.index is None else f"-{node.index}"
    if not node.children:
        return f"(-NONE- {node.text}{suffix})"
    return f"({node.text}{suffix} {' '.join(map(_brackets, node.children))})"


def _relatives(top: Node) -> Iterator[tuple[str, Node]]:
    """The constituents around an inserted node with their directions, the nearest first."""
    node = top
    while node.parent is not None:
        siblings = node.parent.children
        place = next(number for number, sibling in enumerate(siblings) if sibling is node)
        for sibling in reversed(siblings[:place]):
            yield "<", sibling
        stack = siblings[:place:-1]
        while stack:
            sibling = stack.pop()
            yield ">", sibling
            if sibling.category == "VP":
                stack += reversed(sibling.children)
        yield "^", node.parent
        node = node.parent


def find_antecedent(top: Node, place: str) -> Node | None:
    """The constituent at a place; if there are fewer of its category, the most distant one."""
    wanted, left = place[:-1], int(place[-1])
    last = None
    for direction, node in _relatives(top):
        if direction + node.category == wanted:
            if not left:
                return node
            last, left = node, left - 1
    return last


def name_place(top: Node, antecedent: Node) -> str | None:
    """The place of an antecedent; None if it has no name."""
    counts: Counter[str] = Counter()
    for direction, node in _relatives(top):
        name = direction + node.category
        if node is antecedent:
            return f"{name}{counts[name]}" if counts[name] < MOST_DISTANT else None
        counts[name] += 1
    return None
