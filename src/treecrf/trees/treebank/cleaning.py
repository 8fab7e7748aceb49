"""Cleaning: traces, function tags and extra roots are removed from treebank trees."""

import re

from treecrf.trees.tree import Tree, strip
from treecrf.trees.treebank.splitter import ROOTS

# a label that starts with "-" (-LRB-) is kept; in others, function tags, indices and alternatives follow the name
_BARE = re.compile(r"[^-][^-=|]*")
# function tags of the Chinese Treebank, which also occur on part-of-speech tags: NN-SHORT
_FUNCTIONS = "ADV|APP|BNF|CND|DIR|EXT|FOC|HLN|IJ|IMP|IND|IO|LGS|LOC|MNR|OBJ|PN|PRD|PRP|Q|SBJ|SHORT|TMP|TPC|TTL|VOC|WH"
_TAG_FUNCTIONS = re.compile(rf"(?<=.)(?:-(?:{_FUNCTIONS}))+$")


def clean(tree: Tree, *, keep_labels: bool = False, dissolve: frozenset[str] = frozenset()) -> Tree | None:
    """The tree as parsers are trained on it, or None if it has no words.

    Empty elements are removed, with the constituents that contain nothing else. Function tags and indices are removed
    from labels, and function tags of the Chinese Treebank from part-of-speech tags, unless `keep_labels`. A constituent
    whose label is in `dissolve` is replaced by its children. The root is always a single TOP.

    >>> print(clean(Tree.parse("( (S (NP-SBJ-1 (-NONE- *)) (VP=2 (VB Go))))")))
    (TOP (S (VP (VB Go))))
    """

    def rename(label: str) -> str | None:
        name = label if keep_labels else strip_label(label)
        return None if name in dissolve else name

    children = strip(tree, rename, str if keep_labels else _strip_tag)
    while len(children) == 1 and not children[0].is_leaf and children[0].label in ROOTS:
        children = list(children[0].child_trees)
    return Tree("TOP", tuple(children)) if children else None


def strip_label(label: str) -> str:
    """A constituent's label without function tags, indices and alternatives.

    >>> [strip_label(label) for label in ("NP-SBJ-1", "NP=2", "PRT|ADVP", "-LRB-")]
    ['NP', 'NP', 'PRT', '-LRB-']
    """
    match = _BARE.match(label)
    return match[0] if match else label


def _strip_tag(tag: str) -> str:
    return _TAG_FUNCTIONS.sub("", tag)
