"""Everything about trees that needs no model, with NumPy and C, and of the package only `config` and `files`.

Here: the `Tree` type, treebanks and their notations, EVALB scores, Tregex search and surgery, Universal Dependencies,
drawings, and tables of trees. Not here: charts and probabilities (`chart`, `parser.decoding`), raw text (`text`), and
anything that reads a model.
"""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from treecrf import import_extra
from treecrf.trees.other_libraries import explain_names, explain_options
from treecrf.trees.tree import Tree

if TYPE_CHECKING:
    from os import PathLike

    from treecrf.trees.dependencies import Dependencies
    from treecrf.trees.drawing import Layout
    from treecrf.trees.search import HeadRules, Match, Pattern

__all__ = ["Tree"]


# Methods of `Tree` that need other packages: they are imported on the first call.


def _search(tree: Tree, pattern: "str | Pattern") -> "Iterator[Match]":
    """Yields the matches of a Tregex pattern: each has its `node`, and the nodes with names by their names.

    >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP parse) (NP (NNS trees))))")
    >>> [(str(match.node), str(match["noun"])) for match in tree.search("NP > VP < /^NN/=noun")]
    [('(NP (NNS trees))', '(NNS trees)')]
    """
    from treecrf.trees.search.pattern import search_tree

    return search_tree(tree, pattern)


def _heads(tree: Tree, rules: "HeadRules | None" = None) -> list[int]:
    """Returns the number of the head word of each node of `walk()`, by the rules of Collins or by `rules`.

    >>> Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))").heads()
    [2, 1, 0, 1, 2, 2]
    """
    from treecrf.trees.search.forest import head_positions

    return head_positions(tree, rules)


def _to_dependencies(tree: Tree) -> "Dependencies":
    """Converts an English tree to basic Universal Dependencies, by rules."""
    from treecrf.trees.dependencies import to_dependencies

    return to_dependencies(tree)


def _svg(tree: Tree, *, layout: "Layout" = "tidy", theme: str = "light", transparent: bool = False) -> str:
    """Draws the tree as SVG; the layout is "tidy", "aligned" or "sideways", the theme "light" or "dark"."""
    from treecrf.trees.drawing import svg

    return svg(tree, layout=layout, theme=theme, transparent=transparent)


def _save(tree: Tree, path: "str | PathLike[str]", *, layout: "Layout" = "tidy", theme: str = "light") -> None:
    """Draws the tree into a file; the suffix is the format: .svg, .png, .pdf, .html, .tex or .txt."""
    from treecrf.trees.drawing.render import save_tree

    save_tree(tree, path, layout=layout, theme=theme)


def _pretty_print(tree: Tree, *, width: int = 100, stream: IO[str] | None = None) -> None:
    """Prints the tree from top to bottom, or one node per line if it is wider than `width` columns."""
    from treecrf.trees.drawing import text

    print(text(tree, width=width), file=stream)


def _to_nltk(tree: Tree) -> Any:
    """Converts the tree to an `nltk.Tree`."""
    nltk = import_extra("nltk", "to_nltk() needs NLTK", "nltk")
    return tree.fold(lambda node, children: nltk.Tree(node.label, children or node.children))


def _from_nltk(tree: Any) -> Tree:
    """Converts an `nltk.Tree` to a tree."""
    nodes: list[Any] = []  # parents before children
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str) or not hasattr(node, "label"):
            raise ValueError(f"found {node!r:.80}, expected an nltk.Tree; every word needs a tag")
        nodes.append((node, len(node) == 1 and isinstance(node[0], str)))
        stack += [] if nodes[-1][1] else reversed(node)
    trees: list[Tree] = []  # finished subtrees whose parent is not finished, from right to left
    for node, is_leaf in reversed(nodes):
        trees.append(Tree(node.label(), [node[0]] if is_leaf else [trees.pop() for _ in node]))
    return trees[0]


def _repr_html_(tree: Tree) -> str:
    """Draws the tree for a notebook; a wide picture scrolls."""
    return f'<div style="overflow-x: auto">{_svg(tree)}</div>'


_METHODS = (_search, _heads, _to_dependencies, _svg, _save, _pretty_print, _to_nltk)
for _method in _METHODS:
    _method.__name__ = _method.__name__.removeprefix("_")
    _method.__qualname__ = f"Tree.{_method.__name__}"
    setattr(Tree, _method.__name__, explain_options(_method))
Tree.fromstring = staticmethod(explain_options(Tree.parse))  # NLTK's name
Tree.from_nltk = staticmethod(_from_nltk)  # type: ignore[method-assign]
Tree._repr_html_ = _repr_html_  # type: ignore[attr-defined]  # notebooks look for this name

explain_names(Tree)
