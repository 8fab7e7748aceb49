"""Constituency trees and their bracket notation.

In brackets, a word or label cannot contain parentheses or white space, and cannot be empty. The writer escapes such
characters as `\\u{hex}`, and the reader restores them: reading the text of a tree gives an equal tree. Treebank escapes
such as `-LRB-` are ordinary words here; `treecrf.trees.treebank.escapes` converts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from treecrf import TreecrfError

if TYPE_CHECKING:
    from treecrf.trees.dependencies import Dependencies
    from treecrf.trees.search import HeadRules, Match, Pattern

# characters that end a word or that UTF-8 cannot encode, and backslashes that would start an escape
_UNSAFE = re.compile(r"[\s()\ud800-\udfff]|\\(?=u\{[0-9a-f]*\})")
_UNPRINTABLE = re.compile(r"[^\S ]|[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\u\{([0-9a-f]*)\}")
_EMPTY = r"\u{}"
# unlike str.split(), brackets do not split at a no-break space: it belongs to its word
_SPACE = " \t\n\r\f\v"
_WORD = re.compile(rf"[^{_SPACE}]+")
_TOKEN = re.compile(rf"[()]|[^{_SPACE}()]+")


class Span(NamedTuple):
    """A constituent over `words[start:end]`."""

    start: int
    end: int
    label: str


_PENDING = Span(0, 0, "")  # reserves the place of a constituent whose end is not known yet


class BracketError(TreecrfError, ValueError):
    """Text that is not a bracketed tree; `offset` is the position of the error."""

    def __init__(self, reason: str, text: str, offset: int) -> None:
        self.reason = reason
        self.offset = offset
        self.line = text.count("\n", 0, offset) + 1
        super().__init__(f"{reason} (line {self.line}, column {offset - text.rfind(chr(10), 0, offset)})")

    def __reduce__(self) -> tuple[Any, ...]:
        return BracketError.__new__, (BracketError, *self.args), self.__dict__


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A constituent: a label over subtrees, or, as a preterminal, a tag over one word.

    >>> tree = Tree.parse("(TOP (NP (DT the) (NN cat)))")
    >>> tree.words, tree.tags
    (['the', 'cat'], ['DT', 'NN'])
    >>> tree.spans()
    [Span(start=0, end=2, label='TOP'), Span(start=0, end=2, label='NP')]
    """

    label: str
    children: tuple[Tree, ...] | tuple[str]

    def __post_init__(self) -> None:
        children: Any = self.children
        if not isinstance(self.label, str) or not isinstance(children, tuple):
            raise ValueError(f"a tree of {self.label!r} and {children!r:.80}; expected a string and a tuple")
        is_leaf = len(children) == 1 and isinstance(children[0], str)
        if not is_leaf and not (children and all(isinstance(child, Tree) for child in children)):
            raise ValueError(f"{self.label!r} contains {children!r:.80}; expected subtrees, or one word alone")

    @staticmethod
    def parse(text: str) -> Tree:
        """Reads the one tree in `text`."""
        trees = parse_trees(text)
        tree = next(trees, None)
        if tree is None:
            raise BracketError("expected a tree, found nothing", text, len(text))
        if next(trees, None) is not None:
            raise BracketError("expected one tree, found a second", text, _end_of_first(text))
        return tree

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a preterminal: a tag over one word."""
        return isinstance(self.children[0], str)

    @property
    def child_trees(self) -> tuple[Tree, ...]:
        """The children of a constituent; none for a preterminal."""
        return () if self.is_leaf else cast("tuple[Tree, ...]", self.children)

    def leaves(self) -> list[Tree]:
        """The preterminals, left to right."""
        leaves: list[Tree] = []
        stack = [self]
        while stack:
            node = stack.pop()
            if isinstance(node.children[0], str):
                leaves.append(node)
            else:
                stack += node.children[::-1]
        return leaves

    @property
    def words(self) -> list[str]:
        """The words, left to right."""
        return [cast(str, leaf.children[0]) for leaf in self.leaves()]

    @property
    def tags(self) -> list[str]:
        """The part-of-speech tags, left to right."""
        return [leaf.label for leaf in self.leaves()]

    def walk(self) -> Iterator[Tree]:
        """Every node, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.child_trees))

    def subtrees(self, *labels: str) -> list[Tree]:
        """Lists the nodes with one of these labels, parents before children, left to right.

        >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP parse) (NP (NNS trees))))")
        >>> [str(node) for node in tree.subtrees("NP")]
        ['(NP (PRP We))', '(NP (NNS trees))']
        """
        return [node for node in self.walk() if node.label in labels]

    def prune(self, depth: int) -> Tree:
        """The tree without the constituents that are more than `depth` levels below this node.

        The words of a removed constituent, with their tags, belong to the constituent above it.

        >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP parse) (NP (DT the) (NNS trees))))")
        >>> print(tree.prune(1))
        (S (NP (PRP We)) (VP (VBP parse) (DT the) (NNS trees)))
        """
        if depth < 0:
            raise ValueError(f"depth is {depth}; expected 0 or more levels")
        nodes: list[tuple[Tree, int]] = []  # the nodes that stay and their levels, parents before children
        stack = [(self, 0)]
        while stack:
            node, level = stack.pop()
            nodes.append((node, level))
            if level < depth:
                stack += [(child, level + 1) for child in reversed(node.child_trees)]
        trees: list[Tree] = []  # finished subtrees whose parent is not finished, from right to left
        for node, level in reversed(nodes):
            if not node.is_leaf:
                children = node.leaves() if level == depth else [trees.pop() for _ in node.children]
                node = build_unchecked(node.label, tuple(children))
            trees.append(node)
        return trees[0]

    def spans(self) -> list[Span]:
        """The constituents above the preterminals, parents before children."""
        spans: list[Span] = []
        stack: list[Tree | tuple[int, int, str]] = [self]  # or the index, start and label of an open constituent
        position = 0
        while stack:
            node = stack.pop()
            if isinstance(node, tuple):
                index, start, label = node
                spans[index] = Span(start, position, label)
            elif isinstance(node.children[0], str):
                position += 1
            else:
                stack.append((len(spans), position, node.label))
                spans.append(_PENDING)
                stack += node.children[::-1]
        return spans

    def __str__(self) -> str:
        """The brackets, on one line."""
        texts: list[str] = []
        stack: list[Tree | None] = [self]  # None closes a constituent
        while stack:
            node = stack.pop()
            if node is None:
                texts.append(")")
            elif isinstance(node.children[0], str):
                word = node.children[0]
                write_leaf = _cached_leaf_text if len(node.label) + len(word) < _MAX_CACHED else _leaf_text
                texts.append(write_leaf(node.label, word))
            else:
                write_opening = _cached_opening if len(node.label) < _MAX_CACHED else _opening
                texts.append(write_opening(node.label))
                stack.append(None)
                stack += node.children[::-1]
        return "".join(texts)[1:]

    def __repr__(self) -> str:
        return f"Tree.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        # different trees have different brackets, and building brackets needs no recursion, however deep the tree is
        return self is other or (isinstance(other, Tree) and self.label == other.label and str(self) == str(other))

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Tree.parse, (str(self),)

    def pretty(self) -> str:
        """The tree for the terminal, with one node per line.

        >>> print(Tree.parse("(S (NP (PRP We)) (VP (VBP parse)))").pretty())
        S
        ├── NP
        │   └── PRP We
        └── VP
            └── VBP parse
        """
        lines: list[str] = []
        stack = [(self, "", "")]  # a node, its prefix, the prefix of its children
        while stack:
            node, prefix, child_prefix = stack.pop()
            text = f"{node.label} {node.children[0]}" if node.is_leaf else node.label
            lines.append(prefix + _UNPRINTABLE.sub(escape_match, text))
            last = len(node.child_trees) - 1
            for number in range(last, -1, -1):
                branch, trunk = ("└── ", "    ") if number == last else ("├── ", "│   ")
                stack.append((node.child_trees[number], child_prefix + branch, child_prefix + trunk))
        return "\n".join(lines)

    if TYPE_CHECKING:  # bound in trees/__init__.py

        def search(self, pattern: str | Pattern) -> Iterator[Match]: ...
        def heads(self, rules: HeadRules | None = None) -> list[int]: ...
        def to_dependencies(self) -> Dependencies: ...

    def to_nltk(self) -> Any:
        """Converts the tree to an `nltk.Tree`."""
        try:
            nltk = import_module("nltk")
        except ImportError as error:
            raise ImportError("to_nltk() needs NLTK: pip install 'treecrf[nltk]'") from error
        trees: list[Any] = []  # finished subtrees whose parent is not finished, from right to left
        for node in reversed(list(self.walk())):
            children = node.children if node.is_leaf else [trees.pop() for _ in node.children]
            trees.append(nltk.Tree(node.label, children))
        return trees[0]

    @staticmethod
    def from_nltk(tree: Any) -> Tree:
        """Converts an `nltk.Tree` to a tree."""
        nodes: list[Any] = []  # parents before children
        stack = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, str) or not hasattr(node, "label"):
                raise ValueError(f"found {node!r:.80}, expected an nltk.Tree; every word needs a tag")
            nodes.append(node)
            stack += [] if len(node) == 1 and isinstance(node[0], str) else reversed(node)
        trees: list[Tree] = []  # finished subtrees whose parent is not finished, from right to left
        for node in reversed(nodes):
            is_leaf = len(node) == 1 and isinstance(node[0], str)
            trees.append(Tree(node.label(), (node[0],) if is_leaf else tuple(trees.pop() for _ in node)))
        return trees[0]


def escape(text: str) -> str:
    """Escapes a word or label for brackets.

    >>> escape("(")
    '\\\\u{28}'
    """
    if _UNSAFE.search(text):
        return _UNSAFE.sub(escape_match, text)
    return text or _EMPTY


def unescape(text: str) -> str:
    """Restores the text that `escape` received."""
    return _ESCAPE.sub(_unescape_match, text) if "\\u{" in text else text


def escape_match(match: re.Match[str]) -> str:
    """Escapes the one character of a match."""
    return f"\\u{{{ord(match[0]):x}}}"


def _unescape_match(match: re.Match[str]) -> str:
    if not match[1]:
        return ""
    code = int(match[1], 16)
    return chr(code) if code <= 0x10FFFF else match[0]


def _leaf_text(tag: str, word: str) -> str:
    return f" ({escape(tag)} {escape(word)})"


def _opening(label: str) -> str:
    return f" ({escape(label)}" if label else " ("  # over subtrees, an empty label needs no escape: "( (S ...))"


_new = Tree.__new__
_set_label = Tree.__dict__["label"].__set__  # slots are descriptors
_set_children = Tree.__dict__["children"].__set__


def build_unchecked(label: str, children: tuple[Any, ...]) -> Tree:
    """Builds a tree without checking its children, in a third of the time."""
    tree = _new(Tree)
    _set_label(tree, label)
    _set_children(tree, children)
    return tree


def parse_trees(text: str) -> Iterator[Tree]:
    """Reads the trees in `text`, one after another.

    >>> [tree.label for tree in parse_trees("(A (B b)) (C (D d))")]
    ['A', 'C']
    """
    *pieces, rest = text.split(")")
    stack: list[tuple[str, list[Tree]]] = []  # open constituents: the label, and the finished siblings before it
    children: list[Tree] = []  # finished children of the innermost open constituent
    for piece in pieces:
        # the text before each ")": opening labels and a tagged word, or nothing if a constituent ends here
        if piece and (parts := piece.rpartition("("))[1]:
            openings, _, tagged_word = parts
            if openings != " ":
                labels = _cached_labels(openings) if len(openings) < _MAX_CACHED else _read_labels(openings)
                if labels is None:
                    raise _find_error(text)
                for label in labels:
                    stack.append((label, children))
                    children = []
            leaf = _cached_leaf(tagged_word) if len(tagged_word) < _MAX_CACHED else _read_leaf(tagged_word)
            if leaf is None:
                raise _find_error(text)
            children.append(leaf)
        elif stack and not (piece and piece.strip(_SPACE)):
            node = _new(Tree)
            _set_children(node, tuple(children))
            label, children = stack.pop()
            _set_label(node, label)
            children.append(node)
        else:
            raise _find_error(text)
        if not stack:
            yield children.pop()
    if stack or rest.strip(_SPACE):
        raise _find_error(text)


def _read_leaf(text: str) -> Tree | None:
    fields = text.split()
    if " ".join(fields) != text:
        fields = _WORD.findall(text)
    return build_unchecked(unescape(fields[0]), (unescape(fields[1]),)) if len(fields) == 2 else None


def _read_labels(text: str) -> tuple[str, ...] | None:
    """Reads the labels of nested constituents, such as "(S (NP "; None if the text is something else."""
    before, *labels = text.split("(")
    fields = [_WORD.findall(label) for label in labels]
    if before.strip(_SPACE) or any(len(field) > 1 for field in fields):
        return None
    return tuple(unescape("".join(field)) for field in fields)


# a treebank repeats tagged words and labels; long ones repeat too rarely to cache
_MAX_CACHED = 64  # characters
_cached_leaf_text = lru_cache(maxsize=1 << 15)(_leaf_text)
_cached_opening = lru_cache(maxsize=1 << 10)(_opening)
_cached_leaf = lru_cache(maxsize=1 << 15)(_read_leaf)
_cached_labels = lru_cache(maxsize=1 << 13)(_read_labels)


def _find_error(text: str) -> BracketError:
    """Returns the error in text that `parse_trees` could not read."""
    stack: list[tuple[int, list[str], list[int]]] = []  # open brackets: the offset, and the words and brackets inside
    for match in _TOKEN.finditer(text):
        token, offset = match[0], match.start()
        start, words, constituents = stack[-1] if stack else (0, [], [])
        if token == "(" and len(words) > 1:
            return BracketError(f"word {words[1]!r:.60} beside a constituent; expected one or the other", text, start)
        if token == "(":
            constituents.append(offset)
            stack.append((offset, [], []))
        elif not stack:
            reason = "')' without its '('" if token == ")" else f"expected '(', found {token!r:.60}"
            return BracketError(reason, text, offset)
        elif token != ")" and constituents:
            return BracketError(f"word {token!r:.60} after a constituent; expected '(' or ')'", text, offset)
        elif token != ")":
            words.append(token)
        elif not constituents and len(words) < 2:
            name = f"{words[0]!r:.60}" if words else "a constituent"
            return BracketError(f"{name} is empty; expected a word or constituents in it", text, start)
        elif len(words) > 2:
            return BracketError(f"{words[0]!r:.60} contains {len(words) - 1} words; expected one", text, start)
        else:
            stack.pop()
    return BracketError(f"{len(stack)} ')' missing at the end", text, len(text))


def _end_of_first(text: str) -> int:
    depth = 0
    for match in re.finditer(r"[()]", text):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(text)
