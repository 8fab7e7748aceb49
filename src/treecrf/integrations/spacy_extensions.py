"""Trees as extension attributes of spaCy: `doc._.trees`, `span._.labels`, `token._.parent` and others.

The tree of a sentence is plain data in `doc.user_data`, under the key of the sentence's first word. So it is saved with
the document, sent to other processes, and copied into larger documents. Importing this module is enough to read it.
Words are found by their character offsets, which do not change when tokens are merged.
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

from treecrf import TreecrfError
from treecrf.trees.notation import escape_brackets
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import from_spans, to_spans

_EXTENSION = ("._.", "treecrf")  # start of the key; spaCy adds the first character and, for spans, the last one
_BRACKETS = re.compile(r"[][{}]")  # the escapes of parentheses contain braces


class NonConstituentException(TreecrfError, ValueError):
    """The span is not a constituent of its sentence's tree."""


class StoredTree(TypedDict):
    """The tree of a sentence in `doc.user_data`, in types of msgpack and JSON."""

    tree: str
    offsets: list[list[int]]  # start and end character of each word, relative to the sentence's first word
    probabilities: list[float]  # one per constituent in `tree.spans()`; empty if they were not requested


def store_tree(words: Sequence[Token], tree: Tree, probabilities: Iterable[float]) -> None:
    first = words[0].idx
    _data(words[0].doc)[_key(first)] = StoredTree(
        tree=str(tree),
        offsets=[[word.idx - first, word.idx - first + len(word)] for word in words],
        probabilities=list(probabilities),
    )


def remove_trees(doc: Doc) -> None:
    for first in _sentence_starts(doc):
        del _data(doc)[_key(first)]


class _TreeNode(NamedTuple):
    """The constituents over the same words, as one node, or a word without constituents of its own."""

    start: int
    end: int
    labels: tuple[str, ...]  # outermost first
    tree: Tree
    first_label: int  # index of the first label in `tree.spans()`


_TreeNodes = dict[tuple[int, int], _TreeNode]  # by start and end, parents before children


class _SpanPosition(NamedTuple):
    """The position of a span in the tree of its sentence. Its methods are the extension attributes of the span."""

    doc: Doc
    first: int  # first character of the sentence
    stored: StoredTree
    nodes: _TreeNodes
    node: _TreeNode

    def labels(self) -> tuple[str, ...]:
        return self.node.labels

    def tree(self) -> Tree:
        return self.node.tree

    def parse_string(self) -> str:
        tree = self.node.tree
        text = str(tree)
        if not _BRACKETS.search(text):
            return text
        leaves = [Tree(escape_brackets(leaf.label), (escape_brackets(leaf.words[0]),)) for leaf in tree.preterminals()]
        return str(from_spans(to_spans(tree), leaves, tree.label))

    def probability(self) -> float:
        first, labels = self.node.first_label, len(self.node.labels)
        return min(_probabilities(self.stored)[first : first + labels]) if labels else 1.0

    def constituents(self) -> Iterator[Span]:
        return self._spans(self._descendants())

    def children(self) -> Iterator[Span]:
        children: list[_TreeNode] = []
        end = self.node.start
        for node in self._descendants()[1:]:
            if node.start == end:  # nodes below a child start before the child's end
                children.append(node)
                end = node.end
        return self._spans(children)

    def parent(self) -> Span | None:
        start, end = self.node.start, self.node.end
        ancestors = [node for node in self.nodes.values() if node.start <= start and end <= node.end][:-1]
        return next(self._spans(reversed(ancestors)), None)

    def _descendants(self) -> list[_TreeNode]:
        """The node and all nodes below it, parents first."""
        start, end = self.node.start, self.node.end
        return [node for node in self.nodes.values() if start <= node.start and node.end <= end]

    def _spans(self, nodes: Iterable[_TreeNode]) -> Iterator[Span]:
        """The spans of nodes, without words that were merged into larger tokens."""
        offsets = self.stored["offsets"]
        for node in nodes:
            start, end = offsets[node.start][0], offsets[node.end - 1][1]
            span = self.doc.char_span(self.first + start, self.first + end)
            if span is not None:
                yield span


# the attributes of a span or token, and their values for white space
_DEFAULTS: dict[str, Any] = {
    "labels": (),
    "parse_string": "",
    "tree": None,
    "probability": 1.0,
    "constituents": iter(()),
    "children": iter(()),
    "parent": None,
}


def _value(text: Span | Token, *, name: str) -> Any:
    position = _find(text)
    return _DEFAULTS[name] if position is None else getattr(position, name)()


def _trees(doc: Doc) -> tuple[Tree, ...]:
    return tuple(Tree.parse(stored["tree"]) for stored in _stored_trees(doc))


def _tree_probabilities(doc: Doc) -> tuple[tuple[float, ...], ...]:
    """The probabilities of the constituents in `tree.spans()`, for each tree."""
    return tuple(tuple(_probabilities(stored)) for stored in _stored_trees(doc))


def _stored_trees(doc: Doc) -> list[StoredTree]:
    starts = _sentence_starts(doc)
    if not starts and not all(token.is_space for token in doc):
        raise _no_tree_error(doc)
    return [_data(doc)[_key(first)] for first in starts]


def _probabilities(stored: StoredTree) -> list[float]:
    if not stored["probabilities"]:
        raise ValueError(
            f"there are no probabilities of {stored['tree']:.80}; parse with "
            "nlp.add_pipe('treecrf', config={'probabilities': True})"
        )
    return stored["probabilities"]


def _data(doc: Doc) -> dict[Any, Any]:
    return doc.user_data  # spaCy's type has only strings as keys, but its own keys are tuples


def _key(first: int) -> tuple[str, str, int, None]:
    return (*_EXTENSION, first, None)


def _sentence_starts(doc: Doc) -> list[int]:
    """The first characters of the sentences that have trees."""
    return sorted(key[2] for key in _data(doc) if isinstance(key, tuple) and key[:2] == _EXTENSION)


def _no_tree_error(text: Doc | Span | Token) -> ValueError:
    return ValueError(f"there is no tree of {text.text!r:.80}; parse it in a pipeline with the component 'treecrf'")


def _find(text: Span | Token) -> _SpanPosition | None:
    """The position of a span or token; None for white space."""
    words = [token for token in ([text] if isinstance(text, Token) else text) if not token.is_space]
    if not words:
        return None
    doc = text.doc
    preceding = (doc[index].idx for index in range(words[0].i, -1, -1))
    first = next((character for character in preceding if _key(character) in _data(doc)), None)
    if first is None:
        raise _no_tree_error(text)
    stored: StoredTree = _data(doc)[_key(first)]
    nodes = _nodes(stored["tree"])
    borders = [words[0].idx - first, words[-1].idx + len(words[-1]) - first]
    start, end = (bisect_left(stored["offsets"], border, key=itemgetter(side)) for side, border in enumerate(borders))
    node = nodes.get((start, end + 1))
    if node is None or [stored["offsets"][start][0], stored["offsets"][end][1]] != borders:
        raise NonConstituentException(f"{text.text!r:.80} is not a constituent of {stored['tree']:.500}")
    return _SpanPosition(doc, first, stored, nodes, node)


@lru_cache(maxsize=256)  # a walk through a tree needs its nodes at every step
def _nodes(brackets: str) -> _TreeNodes:
    """The nodes of a tree, without its root if the root has one child."""
    tree = Tree.parse(brackets)
    index = 0
    if len(tree.child_trees) == 1:
        tree, index = tree.child_trees[0], 1
    nodes: _TreeNodes = {}
    spans = iter(tree.spans())
    word = 0
    for node in tree.walk():
        if node.is_leaf:
            nodes.setdefault((word, word + 1), _TreeNode(word, word + 1, (), node, index))
            word += 1
            continue
        start, end, label = next(spans)
        chain = nodes.get((start, end), _TreeNode(start, end, (), node, index))
        nodes[start, end] = chain._replace(labels=(*chain.labels, label))
        index += 1
    return nodes


def _extend(kind: Any, name: str, getter: Callable[[Any], Any]) -> None:
    if kind.has_extension(name):
        existing = kind.get_extension(name)[2]
        module = getattr(getattr(existing, "func", existing), "__module__", "another package")
        if module != __name__:
            raise ValueError(
                f"{kind.__name__}._.{name} is already registered by {module}, and treecrf needs this name; "
                f"use only one of the two packages, or call {kind.__name__}.remove_extension({name!r}) first"
            )
    kind.set_extension(name, getter=getter, force=True)


def _register() -> None:
    _extend(Doc, "trees", _trees)
    _extend(Doc, "tree_probabilities", _tree_probabilities)
    for name in _DEFAULTS:
        _extend(Span, name, partial(_value, name=name))
        _extend(Token, name, partial(_value, name=name))


_register()
