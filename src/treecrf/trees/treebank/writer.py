"""Trees as text: files with one tree per line, and the indented format of Stanford's programs."""

import gzip
import os
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from treecrf.files import open_atomic
from treecrf.trees.notation import escape_for_treebanks, penn_brackets
from treecrf.trees.tree import Tree


def write_trees(path: str | os.PathLike[str], trees: Iterable[Tree]) -> int:
    """Writes trees atomically, one per line, compressed if the name ends in `.gz`, and returns their number."""
    if not isinstance(path, str | os.PathLike) or isinstance(trees, Tree | str):
        raise TypeError(f"write_trees({path!r:.40}, {trees!r:.40}); expected a path and a list of trees")
    path = Path(path).resolve()  # a symbolic link stays, and the file that it points to is replaced
    count = 0
    with open_atomic(path) as file:
        # without a name and a date, the same trees make the same compressed file
        lines: Any = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.suffix == ".gz" else nullcontext(file)
        with lines as stream:
            for tree in trees:
                stream.write(f"{tree}\n".encode())
                count += 1
    return count


def penn_format(tree: Tree) -> str:
    """The tree on several lines. Words that follow each other stay on one line, except after a conjunction.

    >>> print(penn_format(Tree.parse("(S (NP (DT The) (NN cat)) (VP (VBZ sits) (PP (IN on) (NP (NN mats)))) (. .))")))
    (S
      (NP (DT The) (NN cat))
      (VP (VBZ sits)
        (PP (IN on)
          (NP (NN mats))))
      (. .))
    """
    pieces: list[str] = []
    stack: list[tuple[Tree | None, int, bool]] = [(tree, 0, True)]  # a node, its depth, and whether its line goes on
    while stack:
        node, depth, stays_on_line = stack.pop()
        if node is None:
            pieces.append(")")
            continue
        pieces.append(" " if stays_on_line else "\n" + "  " * depth)
        if node.is_leaf:
            pieces.append(penn_brackets(str(node)))
            continue
        pieces.append("(" + escape_for_treebanks(node.label))
        stack.append((None, 0, True))
        stack += reversed(_children(node, depth + 1))
    return "".join(pieces)[1:]


def _children(node: Tree, depth: int) -> list[tuple[Tree | None, int, bool]]:
    children: list[tuple[Tree | None, int, bool]] = []
    follows_word = True
    for number, child in enumerate(node.child_trees):
        is_conjunction = child.label.startswith("CC")
        stays_on_line = child.is_leaf and (number == 0 or (follows_word and not is_conjunction))
        children.append((child, depth, stays_on_line))
        follows_word = child.is_leaf and not is_conjunction
    return children
