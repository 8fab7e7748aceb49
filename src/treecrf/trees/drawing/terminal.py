"""Trees for the terminal: from top to bottom if they fit, otherwise one node per line."""

from collections.abc import Sequence

from treecrf.trees.drawing.layout import Node, center_nodes, list_nodes
from treecrf.trees.drawing.text_metrics import escape_invisible, terminal_columns
from treecrf.trees.tree import Tree

_GAP = 2
# box-drawing characters by the sum of the directions of their lines: up 8, down 4, left 2, right 1
_SHAPES = " ╶╴─╷┌┐┬╵└┘┴│├┤┼"


def text(tree: Tree, probabilities: Sequence[float] | None = None, *, width: int = 100) -> str:
    """A tree in box-drawing characters; a tree wider than `width` columns is drawn by `Tree.pretty`.

    >>> print(text(Tree.parse("(S (NP (PRP We)) (VP (VBP parse) (NP (NN 语法))))")))
         S
     ┌───┴───┐
    NP      VP
     │    ┌──┴─┐
    PRP  VBP  NP
    We  parse  │
              NN
             语法
    """
    nodes = list_nodes(tree, probabilities)
    texts = [escape_invisible(node.text) + (node.percent and f" {node.percent}") for node in nodes]
    extents = [terminal_columns(text) for text in texts]
    middles = [round(middle) for middle in center_nodes(nodes, extents, _GAP, [node.depth for node in nodes])]
    starts = [middle - extent // 2 for middle, extent in zip(middles, extents, strict=True)]
    shift = min(starts)
    if max(start + extent for start, extent in zip(starts, extents, strict=True)) - shift > width:
        return _indent(tree, nodes)
    return _draw(nodes, texts, [middle - shift for middle in middles])


def _indent(tree: Tree, nodes: Sequence[Node]) -> str:
    lines = tree.pretty().split("\n")
    for line, node in enumerate(node for node in nodes if not node.is_leaf):
        if node.percent:
            lines[line] += f" {node.percent}"
    return "\n".join(lines)


def _draw(nodes: Sequence[Node], texts: Sequence[str], middles: Sequence[int]) -> str:
    """Rows of text with rows of bars between them; a word is directly below its tag."""
    rows: list[list[tuple[int, str]]] = []  # start column and text
    children: dict[int, list[int]] = {}
    for number, node in enumerate(nodes):
        row = 2 * node.depth - node.is_leaf
        rows += [[] for _ in range(row + 1 - len(rows))]
        rows[row].append((middles[number] - terminal_columns(texts[number]) // 2, texts[number]))
        if node.parent >= 0 and not node.is_leaf:
            children.setdefault(node.parent, []).append(number)
    for parent, numbers in children.items():
        below = [middles[child] for child in numbers]
        rows[2 * nodes[parent].depth + 1].append((below[0], _bar(middles[parent], below)))
    return "\n".join(_row(sorted(row)) for row in rows if row)


def _bar(above: int, below: list[int]) -> str:
    first, last = min(above, below[0]), max(above, below[-1])
    under = set(below)
    return "".join(
        _SHAPES[8 * (column == above) + 4 * (column in under) + 2 * (column > first) + (column < last)]
        for column in range(first, last + 1)
    )


def _row(cells: list[tuple[int, str]]) -> str:
    line, column = "", 0
    for start, text in cells:
        line += " " * (start - column) + text
        column = start + terminal_columns(text)
    return line.rstrip()
