"""Trees as parsers are trained on them."""

import re

from treecrf.tree import Tree, unchecked
from treecrf.treebank.splitter import ROOTS

# -LRB- and its like are names; in others a function, an index or a second choice follows the first character or later
_BARE = re.compile(r"[^-][^-=|]*")
# the functions that the Chinese Treebank marks; it has some on words as well, NN-SHORT
_FUNCTIONS = "ADV|APP|BNF|CND|DIR|EXT|FOC|HLN|IJ|IMP|IND|IO|LGS|LOC|MNR|OBJ|PN|PRD|PRP|Q|SBJ|SHORT|TMP|TPC|TTL|VOC|WH"
_TAG_FUNCTIONS = re.compile(rf"(?<=.)(?:-(?:{_FUNCTIONS}))+$")


def clean(tree: Tree, *, keep_labels: bool = False, dissolve: frozenset[str] = frozenset()) -> Tree | None:
    """The tree as parsers are trained on it, or None if no word is left.

    Empty elements go, and constituents left empty by that. Labels lose function tags and indices, and tags those
    functions that the Chinese Treebank has on words, unless `keep_labels`. Constituents whose label is in `dissolve`
    give way to their children. The root is one TOP.

    >>> print(clean(Tree.parse("( (S (NP-SBJ-1 (-NONE- *)) (VP=2 (VB Go))))")))
    (TOP (S (VP (VB Go))))
    """
    kept: list[list[Tree]] = [[]]  # what stays of the children of each open constituent
    todo: list[Tree | str] = [tree]  # or the label of a constituent whose children are done
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            children = kept.pop()
            if children:
                kept[-1] += children if node in dissolve else [unchecked(node, tuple(children))]
        elif not isinstance(node.children[0], str):
            todo.append(node.label if keep_labels else bare_label(node.label))
            todo += node.children[::-1]
            kept.append([])
        elif node.label != "-NONE-":
            tag = node.label if keep_labels else _TAG_FUNCTIONS.sub("", node.label)
            kept[-1].append(unchecked(tag, node.children))
    children = kept[0]
    while len(children) == 1 and not children[0].is_leaf and children[0].label in ROOTS:
        children = list(children[0].subtrees)
    return Tree("TOP", tuple(children)) if children else None


def bare_label(label: str) -> str:
    """A constituent's label without function tags, indices and second choices.

    >>> [bare_label(label) for label in ("NP-SBJ-1", "NP=2", "PRT|ADVP", "-LRB-")]
    ['NP', 'NP', 'PRT', '-LRB-']
    """
    match = _BARE.match(label)
    return match[0] if match else label
