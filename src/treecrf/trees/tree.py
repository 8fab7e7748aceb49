"""Constituency trees, and the reader of their brackets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from treecrf.trees.notation import (
    EMPTY,
    SPACE,
    UNPRINTABLE,
    WORD,
    BracketError,
    end_of_first,
    escape_match,
    find_error,
    leaf_text,
    opening,
    read_labels,
    split_label,
    unescape,
)

if TYPE_CHECKING:
    from os import PathLike

    from treecrf.trees.dependencies import Dependencies
    from treecrf.trees.drawing import Layout
    from treecrf.trees.search import HeadRules, Match, Pattern

T = TypeVar("T")


class Span(NamedTuple):
    """A constituent over `words[start:end]`."""

    start: int
    end: int
    label: str


_PENDING = Span(0, 0, "")  # reserves the place of a constituent whose end is not known yet


class NodeProduction(NamedTuple):
    """A label with the labels of its children, or a tag with its word.

    >>> print(*Tree.parse("(NP (DT the) (NN cat))").productions(), sep="; ")
    NP -> DT NN; DT -> 'the'; NN -> 'cat'
    """

    lhs: str
    rhs: tuple[str, ...]
    is_lexical: bool = False

    def __str__(self) -> str:
        return f"{self.lhs} -> {' '.join(map(repr, self.rhs) if self.is_lexical else self.rhs)}"


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
        if isinstance(children, list):
            children = tuple(children)
            object.__setattr__(self, "children", children)
        if not isinstance(self.label, str) or not isinstance(children, tuple):
            raise ValueError(f"a tree of {self.label!r} and {children!r:.80}; expected a string and a list or tuple")
        is_leaf = len(children) == 1 and isinstance(children[0], str)
        if not is_leaf and not (children and all(isinstance(child, Tree) for child in children)):
            raise ValueError(f"{self.label!r} contains {children!r:.80}; expected subtrees, or one word alone")

    @staticmethod
    def parse(text: str) -> Tree:
        """Reads the one tree in `text`."""
        if not isinstance(text, str):
            raise TypeError(f"the text is {text!r:.80}; expected a string, a tree in brackets")
        trees = parse_trees(text)
        tree = next(trees, None)
        if tree is None:
            raise BracketError("expected a tree, found nothing", text, len(text))
        if next(trees, None) is not None:
            raise BracketError("expected one tree, found a second", text, end_of_first(text))
        return tree

    fromstring = parse  # NLTK's name

    def __iter__(self) -> Iterator[Any]:
        """The children: trees, or the one word of a preterminal."""
        return iter(self.children)

    def __len__(self) -> int:
        return len(self.children)

    def __getitem__(self, index: int | slice | tuple[int, ...]) -> Any:
        """A child, or children; a tuple of numbers is a path: `tree[1, 0]` is `tree[1][0]`."""
        if not isinstance(index, tuple):
            return self.children[index]
        node: Any = self
        for number in index:
            node = node[number]
        return node

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a preterminal: a tag over one word."""
        return isinstance(self.children[0], str)

    @property
    def is_empty(self) -> bool:
        """Whether the node is an empty element, such as the trace `(-NONE- *T*-1)`: a leaf without a word."""
        return self.label == EMPTY and self.is_leaf

    @property
    def child_trees(self) -> tuple[Tree, ...]:
        """The children of a constituent; none for a preterminal."""
        return () if self.is_leaf else cast("tuple[Tree, ...]", self.children)

    @property
    def category(self) -> str:
        """The label without functions and indices: NP for NP-SBJ-1. The tag of a preterminal stays as it is."""
        return self.label if self.is_leaf else split_label(self.label).category

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions in the label of a constituent, such as SBJ in NP-SBJ-1.

        >>> tree = Tree.parse("(S (NP-SBJ-1 (NNS trees)) (VP (VBP seem) (S (NP-SBJ (-NONE- *-1)) (VP (TO to)))))")
        >>> [(node.category, node.functions, node.index) for node in tree.subtrees() if node.functions]
        [('NP', ('SBJ',), 1), ('NP', ('SBJ',), None)]
        >>> [(node.kind, node.index) for node in tree.empties()], str(tree.plain())
        ([('*', 1)], '(S (NP (NNS trees)) (VP (VBP seem) (S (VP (TO to)))))')
        """
        return () if self.is_leaf else split_label(self.label).functions

    @property
    def index(self) -> int | None:
        """The index of a constituent (NP-1) or of an empty element (*T*-1), which connects them; None without one."""
        if self.is_leaf and not self.is_empty:
            return None
        return split_label(self.children[0] if isinstance(self.children[0], str) else self.label).index

    @property
    def gap(self) -> int | None:
        """The index after `=` in the label of a constituent, which is parallel to the constituent with this index."""
        return None if self.is_leaf else split_label(self.label).gap

    @property
    def kind(self) -> str | None:
        """The kind of an empty element, such as `*T*` or `0`; None for other nodes."""
        return split_label(cast(str, self.children[0])).category if self.is_empty else None

    def preterminals(self, *, empties: bool = False) -> list[Tree]:
        """The tags over words, left to right; with `empties`, the empty elements too."""
        leaves: list[Tree] = []
        stack = [self]
        while stack:
            node = stack.pop()
            if not isinstance(node.children[0], str):
                stack += node.children[::-1]
            elif empties or node.label != EMPTY:
                leaves.append(node)
        return leaves

    def empties(self) -> list[Tree]:
        """The empty elements, left to right."""
        return [leaf for leaf in self.preterminals(empties=True) if leaf.label == EMPTY]

    @property
    def words(self) -> list[str]:
        """The words, left to right."""
        return [cast(str, leaf.children[0]) for leaf in self.preterminals()]

    @property
    def tags(self) -> list[str]:
        """The part-of-speech tags, left to right."""
        return [leaf.label for leaf in self.preterminals()]

    def leaves(self) -> list[str]:
        """The words, as in NLTK, but without empty elements."""
        return self.words

    def pos(self) -> list[tuple[str, str]]:
        """The words with their tags, as in NLTK."""
        return [(cast(str, leaf.children[0]), leaf.label) for leaf in self.preterminals()]

    def walk(self) -> Iterator[Tree]:
        """Every node, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += () if isinstance(node.children[0], str) else node.children[::-1]

    def subtrees(self, filter: str | Callable[[Tree], object] | None = None, *labels: str) -> Iterator[Tree]:
        """Yields every node for which `filter` is true, or with one of these labels, parents before children.

        >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP parse) (NP (NNS trees))))")
        >>> [str(node) for node in tree.subtrees("NP")]
        ['(NP (PRP We))', '(NP (NNS trees))']
        >>> [node.label for node in tree.subtrees(lambda node: node.height() == 2)]
        ['PRP', 'VBP', 'NNS']
        """
        if filter is None or isinstance(filter, str):
            wanted = {filter, *labels}
            return (node for node in self.walk() if filter is None or node.label in wanted)
        return (node for node in self.walk() if filter(node))

    def productions(self) -> list[NodeProduction]:
        """The productions of all nodes, parents before children, as in NLTK."""
        return [NodeProduction(node.label, _symbols(node), node.is_leaf) for node in self.walk()]

    def height(self) -> int:
        """The number of levels, the words included, as in NLTK: 2 for a preterminal."""
        return self.fold(lambda node, heights: 1 + max(heights, default=1))

    def fold(self, combine: Callable[[Tree, list[T]], T]) -> T:
        """Combines each node and the values of its children into a value, without recursion."""
        values: list[T] = []  # values of nodes whose parent has none yet, from right to left
        for node in reversed(list(self.walk())):
            values.append(combine(node, [values.pop() for _ in node.child_trees]))
        return values[0]

    def plain(self, *, functions: bool = False) -> Tree:
        """The tree without empty elements, and without functions and indices unless `functions` is true.

        Constituents without words are removed; a tree without words is an error.
        """
        nodes = strip(self, str if functions else _category)
        if not nodes:
            raise ValueError(f"no words in {self!s:.80}; a plain tree has at least one word")
        return nodes[0]

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
                children = node.preterminals(empties=True) if level == depth else [trees.pop() for _ in node.children]
                node = build_unchecked(node.label, tuple(children))
            trees.append(node)
        return trees[0]

    def spans(self) -> list[Span]:
        """The constituents above the preterminals that have words, parents before children."""
        spans: list[Span] = []
        stack: list[Tree | tuple[int, int, str]] = [self]  # or the index, start and label of an open constituent
        position = 0
        while stack:
            node = stack.pop()
            if isinstance(node, tuple):
                index, start, label = node
                spans[index] = Span(start, position, label)
            elif isinstance(node.children[0], str):
                if node.label == EMPTY:
                    return [span for tree in strip(self, str) for span in tree.spans()]
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
                write_leaf = _cached_leaf_text if len(node.label) + len(word) < _MAX_CACHED else leaf_text
                texts.append(write_leaf(node.label, word))
            else:
                write_opening = _cached_opening if len(node.label) < _MAX_CACHED else opening
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
            lines.append(prefix + UNPRINTABLE.sub(escape_match, text))
            last = len(node.child_trees) - 1
            for number in range(last, -1, -1):
                branch, trunk = ("└── ", "    ") if number == last else ("├── ", "│   ")
                stack.append((node.child_trees[number], child_prefix + branch, child_prefix + trunk))
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """JSON values: brackets, words, tags and spans, as in the lines of `treecrf parse --format json`."""
        spans = [span._asdict() for span in self.spans()]
        return {"tree": str(self), "words": self.words, "tags": self.tags, "spans": spans}

    if TYPE_CHECKING:
        # lists become tuples
        def __init__(self, label: str, children: list[Tree] | list[str] | tuple[Tree, ...] | tuple[str]) -> None: ...

        # bound in trees/__init__.py
        def search(self, pattern: str | Pattern) -> Iterator[Match]: ...
        def heads(self, rules: HeadRules | None = None) -> list[int]: ...
        def to_dependencies(self) -> Dependencies: ...
        def svg(self, *, layout: Layout = "tidy", theme: str = "light", transparent: bool = False) -> str: ...
        def save(self, path: str | PathLike[str], *, layout: Layout = "tidy", theme: str = "light") -> None: ...
        def pretty_print(self, *, width: int = 100, stream: IO[str] | None = None) -> None: ...
        def to_nltk(self) -> Any: ...
        @staticmethod
        def from_nltk(tree: Any) -> Tree: ...


def strip(tree: Tree, name: Callable[[str], str | None], tag_name: Callable[[str], str] = str) -> list[Tree]:
    """Removes empty elements and constituents without words, and renames the others.

    A constituent whose new name is None is replaced by its children. No tree is left if there are no words.
    """
    siblings: list[list[Tree]] = [[]]  # the children of each open constituent
    stack: list[Tree | str] = [tree]  # or, after its children, the label of a constituent
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            children, label = siblings.pop(), name(node)
            siblings[-1] += children if label is None or not children else [build_unchecked(label, tuple(children))]
        elif not isinstance(node.children[0], str):
            stack.append(node.label)
            stack += node.children[::-1]
            siblings.append([])
        elif node.label != EMPTY:
            siblings[-1].append(build_unchecked(tag_name(node.label), node.children))
    return siblings[0]


def _category(label: str) -> str:
    return split_label(label).category


def _symbols(node: Tree) -> tuple[str, ...]:
    return tuple(child if isinstance(child, str) else child.label for child in node.children)


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
                labels = _cached_labels(openings) if len(openings) < _MAX_CACHED else read_labels(openings)
                if labels is None:
                    raise find_error(text)
                for label in labels:
                    stack.append((label, children))
                    children = []
            leaf = _cached_leaf(tagged_word) if len(tagged_word) < _MAX_CACHED else _read_leaf(tagged_word)
            if leaf is None:
                raise find_error(text)
            children.append(leaf)
        elif stack and not (piece and piece.strip(SPACE)):
            node = _new(Tree)
            _set_children(node, tuple(children))
            label, children = stack.pop()
            _set_label(node, label)
            children.append(node)
        else:
            raise find_error(text)
        if not stack:
            yield children.pop()
    if stack or rest.strip(SPACE):
        raise find_error(text)


def _read_leaf(text: str) -> Tree | None:
    fields = text.split()
    if " ".join(fields) != text:
        fields = WORD.findall(text)
    return build_unchecked(unescape(fields[0]), (unescape(fields[1]),)) if len(fields) == 2 else None


# a treebank repeats tagged words and labels; long ones repeat too rarely to cache
_MAX_CACHED = 64  # characters
_cached_leaf_text = lru_cache(maxsize=1 << 15)(leaf_text)
_cached_opening = lru_cache(maxsize=1 << 10)(opening)
_cached_leaf = lru_cache(maxsize=1 << 15)(_read_leaf)
_cached_labels = lru_cache(maxsize=1 << 13)(read_labels)
