"""What documents, spans and tokens of spaCy know of their trees: `doc._.trees`, `span._.labels`, `token._.parent`.

The tree of a sentence is plain data in `doc.user_data`, where spaCy keeps the extension data of the sentence's first
word, so that it goes wherever a document goes: to disk, to other processes, into larger documents. Importing this
module is enough to read it. Where words stand is told in characters, which stay when tokens are merged.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, NamedTuple, TypedDict

try:
    from spacy.tokens import Doc, Span, Token
except ImportError as error:
    raise ImportError("trees in spaCy need spaCy: pip install 'treecrf[spacy]'") from error

from treecrf.tree import Tree
from treecrf.treebank.binarize import from_spans, to_spans
from treecrf.treebank.escapes import escape_brackets

_EXTENSION = ("._.", "treecrf")  # spaCy's keys of user data go on with the first character and, for spans, the last
_BRACKETS = re.compile(r"[][{}]")  # in a tree's text: braces are also in the escapes of parentheses


class NonConstituentException(ValueError):
    """A span was asked for its place in a tree, and is no constituent of it."""


class Stored(TypedDict):
    """The tree of a sentence as it is kept, in types that msgpack and JSON know."""

    tree: str
    offsets: list[list[int]]  # of each word's first character and the one behind its last, from the first word's
    probabilities: list[float]  # of each of `tree.spans()`


def store(words: Sequence[Token], tree: Tree, probabilities: Iterable[float]) -> None:
    """Keep a sentence's tree in the document of its words."""
    first = words[0].idx
    _data(words[0].doc)[_key(first)] = Stored(
        tree=str(tree),
        offsets=[[word.idx - first, word.idx - first + len(word)] for word in words],
        probabilities=list(probabilities),
    )


def forget(doc: Doc) -> None:
    """Take all trees out of a document."""
    for first in _parsed(doc):
        del _data(doc)[_key(first)]


class _Node(NamedTuple):
    """A constituent or a word, and the constituents over it that hold nothing else: `labels`, outermost first."""

    start: int
    end: int
    labels: tuple[str, ...]
    tree: Tree
    number: int  # of its first label, among the tree's spans


_Nodes = dict[tuple[int, int], _Node]  # by start and end, parents before children


class _Place(NamedTuple):
    """Where a span stands in the tree of its sentence, whose first word begins at character `first`."""

    doc: Doc
    first: int
    stored: Stored
    nodes: _Nodes
    node: _Node

    def spans(self, nodes: Iterable[_Node]) -> Iterator[Span]:
        """The spans of nodes; those without one are words that were merged into larger tokens."""
        offsets = self.stored["offsets"]
        for node in nodes:
            start, end = offsets[node.start][0], offsets[node.end - 1][1]
            span = self.doc.char_span(self.first + start, self.first + end)
            if span is not None:
                yield span

    def inside(self) -> list[_Node]:
        """The node, then all below it."""
        start, end = self.node.start, self.node.end
        return [node for node in self.nodes.values() if start <= node.start and node.end <= end]

    def around(self) -> list[_Node]:
        """All above the node, then the node."""
        start, end = self.node.start, self.node.end
        return [node for node in self.nodes.values() if node.start <= start and end <= node.end]


def _labels(span: Span) -> tuple[str, ...]:
    place = _find(span)
    return place.node.labels if place else ()


def _tree(span: Span) -> Tree | None:
    place = _find(span)
    return place.node.tree if place else None


def _parse_string(span: Span) -> str:
    tree = _tree(span)
    if tree is None:
        return ""
    text = str(tree)
    if not _BRACKETS.search(text):
        return text
    leaves = [Tree(escape_brackets(leaf.label), (escape_brackets(leaf.words[0]),)) for leaf in tree.leaves()]
    return str(from_spans(to_spans(tree), leaves, tree.label))


def _probability(span: Span) -> float:
    place = _find(span)
    if place is None or not place.node.labels:
        return 1.0
    number = place.node.number
    return min(place.stored["probabilities"][number : number + len(place.node.labels)])


def _constituents(span: Span) -> Iterator[Span]:
    place = _find(span)
    return place.spans(place.inside()) if place else iter(())


def _children(span: Span) -> Iterator[Span]:
    place = _find(span)
    if place is None:
        return iter(())
    children: list[_Node] = []
    end = place.node.start
    for node in place.inside()[1:]:
        if node.start == end:  # what is inside of a child starts before the child's end
            children.append(node)
            end = node.end
    return place.spans(children)


def _parent(span: Span) -> Span | None:
    place = _find(span)
    if place is None:
        return None
    above = place.around()[:-1]
    return next(place.spans(reversed(above)), None)


def _trees(doc: Doc) -> tuple[Tree, ...]:
    sentences = _parsed(doc)
    if not sentences and not all(token.is_space for token in doc):
        raise _no_tree(doc)
    return tuple(Tree.parse(_data(doc)[_key(first)]["tree"]) for first in sentences)


def _data(doc: Doc) -> dict[Any, Any]:
    return doc.user_data


def _key(first: int) -> tuple[str, str, int, None]:
    return (*_EXTENSION, first, None)


def _parsed(doc: Doc) -> list[int]:
    """The first characters of sentences that have trees."""
    return sorted(key[2] for key in _data(doc) if isinstance(key, tuple) and key[:2] == _EXTENSION)


def _no_tree(of: Doc | Span) -> ValueError:
    return ValueError(f"there is no tree of {of.text!r:.80}; a pipeline with the component 'treecrf' makes one")


def _find(span: Span) -> _Place | None:
    """The place of a span in the tree of its sentence; white space has none."""
    words = [token for token in span if not token.is_space]
    if not words:
        return None
    doc = span.doc
    before = (doc[number].idx for number in range(words[0].i, -1, -1))
    first = next((character for character in before if _key(character) in _data(doc)), None)
    if first is None:
        raise _no_tree(span)
    stored: Stored = _data(doc)[_key(first)]
    nodes = _nodes(stored["tree"])
    borders = [words[0].idx - first, words[-1].idx + len(words[-1]) - first]
    start, end = (bisect_left(stored["offsets"], border, key=itemgetter(side)) for side, border in enumerate(borders))
    node = nodes.get((start, end + 1))
    if node is None or [stored["offsets"][start][0], stored["offsets"][end][1]] != borders:
        raise NonConstituentException(f"{span.text!r:.80} is no constituent of {stored['tree']:.500}")
    return _Place(doc, first, stored, nodes, node)


@lru_cache(maxsize=256)  # who walks through a tree asks for it again and again
def _nodes(brackets: str) -> _Nodes:
    """The nodes of a tree. Its root is none, unless it holds more than one."""
    tree = Tree.parse(brackets)
    number = 0
    if len(tree.subtrees) == 1:
        tree, number = tree.subtrees[0], 1
    nodes: _Nodes = {}
    spans = iter(tree.spans())
    word = 0
    for node in tree.walk():
        if node.is_leaf:
            nodes.setdefault((word, word + 1), _Node(word, word + 1, (), node, number))
            word += 1
            continue
        start, end, label = next(spans)
        chain = nodes.get((start, end), _Node(start, end, (), node, number))
        nodes[start, end] = chain._replace(labels=(*chain.labels, label))
        number += 1
    return nodes


_GETTERS: dict[str, Callable[[Span], Any]] = {
    "labels": _labels,
    "parse_string": _parse_string,
    "tree": _tree,
    "probability": _probability,
    "constituents": _constituents,
    "children": _children,
    "parent": _parent,
}


def _of_token(token: Token, *, getter: Callable[[Span], Any]) -> Any:
    """What a token says of itself: the same as the span that holds it alone."""
    return getter(token.doc[token.i : token.i + 1])


def _register() -> None:
    _extend(Doc, "trees", _trees)
    for name, getter in _GETTERS.items():
        _extend(Span, name, getter)
        _extend(Token, name, partial(_of_token, getter=getter))


def _extend(kind: Any, name: str, getter: Callable[[Any], Any]) -> None:
    if kind.has_extension(name):
        other = kind.get_extension(name)[2]
        source = getattr(getattr(other, "func", other), "__module__", "elsewhere")
        if source != __name__:
            raise ValueError(
                f"{kind.__name__}._.{name} is taken already, by {source}; treecrf needs that name: "
                f"use one of the two, or call {kind.__name__}.remove_extension({name!r}) first"
            )
    kind.set_extension(name, getter=getter, force=True)


_register()
