"""Everything about trees that needs no model, with NumPy and C, and of the package only `config` and `files`.

Here: the `Tree` type, treebanks and their notations, EVALB scores, Tregex search and surgery, Universal Dependencies,
drawings, and tables of trees. Not here: charts and probabilities (`chart`, `parser.decoding`), raw text (`text`), and
anything that reads a model.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treecrf.trees.tree import Tree

if TYPE_CHECKING:
    from treecrf.trees.dependencies import Dependencies
    from treecrf.trees.search import HeadRules, Match, Pattern

__all__ = ["Tree"]


# Methods of `Tree` that need other packages of this wing, which need NumPy: they are imported on the first call.


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


def _repr_svg_(tree: Tree) -> str:
    """Draws the tree for a notebook."""
    from treecrf.trees.drawing import svg

    return svg(tree)


_METHODS = {"search": _search, "heads": _heads, "to_dependencies": _to_dependencies, "_repr_svg_": _repr_svg_}
for _name, _method in _METHODS.items():
    setattr(Tree, _name, _method)
