"""Constituency trees and their bracket notation.

In brackets a word or label cannot hold a parenthesis or white space, and cannot be empty. Such characters are written
as `\\u{hex}` and read back, so that every tree survives the trip through text; `-LRB-` and other treebank escapes are
ordinary words and stay as they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

# characters that would end a word, and the start of what would read as an escape
_UNSAFE = re.compile(r"[\s()]|\\(?=u\{[0-9a-f]*\})")
_ESCAPE = re.compile(r"\\u\{([0-9a-f]*)\}")
_EMPTY = r"\u{}"
# str.split() knows more white space than brackets do: a no-break space belongs to its word
_ODD_SPACE = re.compile(r"[^\S \t\n\r\f\v]")
_SPACE = " \t\n\r\f\v"
_WORD = re.compile(rf"[^{_SPACE}]+")


class Span(NamedTuple):
    """A constituent over `words[start:end]`."""

    start: int
    end: int
    label: str


class BracketError(ValueError):
    """Text that is not a bracketed tree; `offset` is where it goes wrong."""

    def __init__(self, reason: str, text: str, offset: int) -> None:
        self.reason = reason
        self.offset = offset
        self.line = text.count("\n", 0, offset) + 1
        super().__init__(f"{reason} (line {self.line}, column {offset - text.rfind(chr(10), 0, offset)})")


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
    children: "tuple[Tree, ...] | tuple[str]"

    @staticmethod
    def parse(text: str) -> "Tree":
        """The one tree that `text` spells."""
        trees = parse_trees(text)
        tree = next(trees, None)
        if tree is None:
            raise BracketError("expected a tree, found nothing", text, len(text))
        if next(trees, None) is not None:
            raise BracketError("expected one tree, found a second", text, _end_of_first(text))
        return tree

    @property
    def is_leaf(self) -> bool:
        """Whether this is a preterminal: a tag over one word."""
        return isinstance(self.children[0], str)

    @property
    def subtrees(self) -> "tuple[Tree, ...]":
        """The children of a constituent; none for a preterminal."""
        return () if self.is_leaf else cast("tuple[Tree, ...]", self.children)

    def leaves(self) -> "list[Tree]":
        """The preterminals, left to right."""
        return [node for node in self.walk() if node.is_leaf]

    @property
    def words(self) -> list[str]:
        """The words, left to right."""
        return [cast(str, leaf.children[0]) for leaf in self.leaves()]

    @property
    def tags(self) -> list[str]:
        """The part-of-speech tags, left to right."""
        return [leaf.label for leaf in self.leaves()]

    def walk(self) -> "Iterator[Tree]":
        """Every node, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.subtrees))

    def spans(self) -> list[Span]:
        """The constituents above the preterminals, parents before children."""
        spans: list[Span] = []
        nodes: list[Tree | int] = [self]  # a number marks the end of the constituent that `spans` holds there
        position = 0
        while nodes:
            node = nodes.pop()
            if isinstance(node, int):
                spans[node] = spans[node]._replace(end=position)
            elif node.is_leaf:
                position += 1
            else:
                nodes.append(len(spans))
                spans.append(Span(position, position, node.label))
                nodes.extend(reversed(node.subtrees))
        return spans

    def __str__(self) -> str:
        """The brackets, on one line."""
        parts: list[str] = []
        stack: list[Tree | None] = [self]  # None closes a constituent
        while stack:
            node = stack.pop()
            if node is None:
                parts.append(")")
            elif isinstance(node.children[0], str):
                parts.append(f" ({escape(node.label)} {escape(node.children[0])})")
            else:
                # an empty label needs no spelling over subtrees: "( (S ...))"
                parts.append(" (" + (escape(node.label) if node.label else ""))
                stack.append(None)
                stack += node.children[::-1]  # type: ignore[arg-type]  # str was the case above
        return "".join(parts)[1:]

    def __repr__(self) -> str:
        return f"Tree.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        # brackets spell each tree differently, and are built without recursion however deep it is
        return self is other or (isinstance(other, Tree) and self.label == other.label and str(self) == str(other))

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Tree.parse, (str(self),)

    def pretty(self) -> str:
        """A drawing for the terminal, one node a line.

        >>> print(Tree.parse("(S (NP (PRP We)) (VP (VBP parse)))").pretty())
        S
        ├── NP
        │   └── PRP We
        └── VP
            └── VBP parse
        """
        lines: list[str] = []
        stack = [(self, "", "")]  # node, what stands before it, what stands before its children
        while stack:
            node, before, below = stack.pop()
            word = f" {node.children[0]}" if node.is_leaf else ""
            lines.append(before + node.label + word)
            last = len(node.subtrees) - 1
            for number in range(last, -1, -1):
                branch, trunk = ("└── ", "    ") if number == last else ("├── ", "│   ")
                stack.append((node.subtrees[number], below + branch, below + trunk))
        return "\n".join(lines)

    def to_nltk(self) -> Any:
        """The same tree as an `nltk.Tree`."""
        try:
            from nltk import Tree as NLTKTree
        except ImportError as error:
            raise ImportError("to_nltk() needs NLTK: pip install 'treecrf[nltk]'") from error
        root = NLTKTree(self.label, [])
        stack = [(self, root)]
        while stack:
            node, copy = stack.pop()
            copy.extend(NLTKTree(child.label, []) for child in node.subtrees)
            if node.is_leaf:
                copy.append(node.children[0])
            stack.extend(zip(node.subtrees, copy, strict=False))  # a leaf's word has no partner
        return root

    @staticmethod
    def from_nltk(tree: Any) -> "Tree":
        """The tree that an `nltk.Tree` holds."""
        built: list[Tree] = []
        stack: list[tuple[Any, bool]] = [(tree, False)]
        while stack:
            node, seen = stack.pop()
            words = [child for child in node if isinstance(child, str)]
            if words and len(node) == 1:
                built.append(Tree(node.label(), (words[0],)))
            elif words or not len(node):
                raise ValueError(f"{node.label()!r} holds {list(node)!r:.80}; expected subtrees, or one word alone")
            elif seen:
                children = tuple(built[-len(node) :])
                del built[-len(node) :]
                built.append(Tree(node.label(), children))
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node))
        return built[0]


def escape(text: str) -> str:
    """A word or label as brackets can hold it.

    >>> escape("(")
    '\\\\u{28}'
    """
    if _UNSAFE.search(text):
        return _UNSAFE.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)
    return text or _EMPTY


def unescape(text: str) -> str:
    """What `escape` was given."""
    return _ESCAPE.sub(_character, text) if "\\u{" in text else text


def _character(match: re.Match[str]) -> str:
    if not match[1]:
        return ""
    code = int(match[1], 16)
    return chr(code) if code <= 0x10FFFF else match[0]


_new = Tree.__new__
_set_label = Tree.label.__set__  # type: ignore[attr-defined]  # slots are descriptors
_set_children = Tree.children.__set__  # type: ignore[attr-defined]


def _tree(label: str, children: tuple[Any, ...]) -> Tree:
    # a third of the time that the checks of a frozen __init__ take
    tree = _new(Tree)
    _set_label(tree, label)
    _set_children(tree, children)
    return tree


def parse_trees(text: str) -> Iterator[Tree]:
    """The trees that `text` spells one after another.

    >>> [tree.label for tree in parse_trees("(A (B b)) (C (D d))")]
    ['A', 'C']
    """
    split = _WORD.findall if _ODD_SPACE.search(text) else str.split
    escaped = "\\u{" in text
    pieces = text.split("(")
    if pieces[0].strip(_SPACE):
        raise BracketError("expected '(', found a word", text, len(pieces[0]) - len(pieces[0].lstrip(_SPACE)))
    open_nodes: list[tuple[str, list[Tree]]] = []  # label and children so far
    for number in range(1, len(pieces)):
        # what follows each "(": a label, perhaps a word, then as many ")" as constituents end here
        head, *closing = pieces[number].split(")")
        fields = split(head)
        if escaped:
            fields = [unescape(field) for field in fields]
        if not closing and len(fields) <= 1:
            open_nodes.append((fields[0] if fields else "", []))
            continue
        if len(fields) != 2 or not closing or any(closing) and "".join(closing).strip(_SPACE):
            raise _diagnose(text, pieces, number)
        node = _tree(fields[0], (fields[1],))
        for _ in closing[1:]:
            if not open_nodes:
                raise _diagnose(text, pieces, number)
            label, children = open_nodes.pop()
            children.append(node)
            node = _tree(label, tuple(children))
        if open_nodes:
            open_nodes[-1][1].append(node)
        else:
            yield node
    if open_nodes:
        raise BracketError(f"{len(open_nodes)} ')' missing at the end", text, len(text))


def _diagnose(text: str, pieces: list[str], number: int) -> BracketError:
    """Say what is wrong with a piece that `parse_trees` could not use."""
    start = sum(len(piece) + 1 for piece in pieces[:number])
    head, *closing = pieces[number].split(")")
    fields = _WORD.findall(head)
    if not closing:
        return BracketError(f"word {fields[1]!r:.60} beside a constituent; expected one or the other", text, start)
    if len(fields) < 2:
        name = repr(fields[0])[:60] if fields else "a constituent"
        return BracketError(f"{name} is empty; expected a word or constituents in it", text, start)
    if len(fields) > 2:
        return BracketError(f"{fields[0]!r:.60} holds {len(fields) - 1} words; expected one", text, start)
    offset = start + len(head) + 1
    for piece in closing:
        if piece.strip(_SPACE):
            word = piece.split()[0]
            return BracketError(f"word {word!r:.60} after a constituent; expected '(' or ')'", text, offset)
        offset += len(piece) + 1
    return BracketError("')' without its '('", text, offset - 1)


def _end_of_first(text: str) -> int:
    depth = 0
    for match in re.finditer(r"[()]", text):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(text)
