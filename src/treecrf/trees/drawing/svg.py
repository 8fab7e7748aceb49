"""Trees as SVG: self-contained pictures, without scripts, embedded fonts or references."""

from collections.abc import Sequence
from html import escape
from itertools import accumulate
from typing import Literal, NamedTuple

from treecrf.trees.drawing.colors import Color, Theme, get_theme, ink_on, to_hex
from treecrf.trees.drawing.layout import Node, bottom_up_levels, center_nodes, find_antecedents, list_nodes
from treecrf.trees.drawing.text_metrics import escape_invisible, is_ideographic, is_right_to_left, width
from treecrf.trees.tree import Tree

Layout = Literal["tidy", "aligned", "sideways"]

_SIZES = {"label": 14.0, "tag": 11.0, "word": 14.0, "trace": 12.0}
_NUMBER = 9.5  # the font size of probabilities
_PAD = 5.0  # between a label and the edge of its box
_HALF = 10.0  # half of the height of a row
_LEVEL = 42.0  # between levels
_WORD = 18.0  # between a tag and its word
_GAP = 11.0  # between adjacent nodes
_MARGIN = 14.0
_LEGEND = 46.0
_ARC = 24.0  # below an empty element
LATIN = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans', sans-serif"
_RIGHT_TO_LEFT = "'Segoe UI', 'Geeza Pro', 'Noto Sans Arabic', 'Noto Sans Hebrew', 'DejaVu Sans', "
_IDEOGRAPHIC = (
    "'PingFang SC', 'Hiragino Sans', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans SC', 'Source Han Sans SC', "
    "'WenQuanYi Micro Hei', 'WenQuanYi Zen Hei', 'Droid Sans Fallback', 'Malgun Gothic', 'Yu Gothic', 'IPAexGothic', "
)


class Box(NamedTuple):
    """A node of the picture: its text, centered at (x, y)."""

    node: Node
    text: str
    x: float
    y: float
    width: float


class Picture(NamedTuple):
    """Boxes, the lines between them, and the arcs from empty elements to their antecedents: lists of points."""

    boxes: list[Box]
    lines: list[tuple[tuple[float, float], ...]]
    arcs: list[tuple[tuple[float, float], ...]]
    width: float
    height: float


def svg(
    tree: Tree,
    probabilities: Sequence[float] | None = None,
    *,
    layout: Layout = "tidy",
    theme: str = "light",
    transparent: bool = False,
) -> str:
    """A tree as an SVG picture.

    `probabilities`, one for each of `tree.spans()`, color the constituents. The layout is "tidy", with words below
    their tags; "aligned", with all words on one line; or "sideways", with the root at the left and one word per row.

    >>> svg(Tree.parse("(NP (DT the) (NN cat))"))[:39]
    '<svg xmlns="http://www.w3.org/2000/svg"'
    """
    palette = get_theme(theme)
    picture = arrange(list_nodes(tree, probabilities), layout)
    height = picture.height + (_LEGEND if probabilities is not None else 0.0)
    total_width = max(picture.width, 190.0) if probabilities is not None else picture.width
    words = [box.text for box in picture.boxes if box.node.kind == "word"]
    elements = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_n(total_width)} {_n(height)}" '
        f'width="{_n(total_width)}" height="{_n(height)}" font-family="{LATIN}" text-anchor="middle">',
        f"<title>{escape(' '.join(words), quote=False)}</title>",
        f"<desc>Constituency tree: {escape(escape_invisible(str(tree)), quote=False)}</desc>",
    ]
    if not transparent:
        elements.append(f'<rect width="100%" height="100%" fill="{to_hex(palette.background)}"/>')
    stroke = f'fill="none" stroke="{to_hex(palette.line)}" stroke-width="1.2"'
    path = "".join("M" + "L".join(_points(line)) for line in picture.lines)
    elements.append(f'<path d="{path}" {stroke}/>')
    for arc in picture.arcs:
        elements.append('<path class="arc" d="M{}C{} {} {}" {} stroke-dasharray="4 3"/>'.format(*_points(arc), stroke))
    elements += _texts(picture.boxes, layout, palette)
    if probabilities is not None:
        elements += _legend(palette, picture.height)
    return "\n".join([*elements, "</svg>", ""])


def arrange(nodes: Sequence[Node], layout: Layout) -> Picture:
    """Places the boxes and lines of a tree's nodes."""
    texts = [escape_invisible(node.text) for node in nodes]
    widths = [_width(text, node) for text, node in zip(texts, nodes, strict=True)]
    if layout == "sideways":
        across, down = _sideways(nodes, widths)
    elif layout in ("tidy", "aligned"):
        across, down = _downward(nodes, widths, aligned=layout == "aligned")
        if is_right_to_left([node.text for node in nodes if node.kind == "word"]):
            end = max(x + extent / 2 for x, extent in zip(across, widths, strict=True))
            across = [end - x for x in across]
    else:
        raise ValueError(f"layout is {layout!r}; expected 'tidy', 'aligned' or 'sideways'")
    boxes = [
        Box(node, text, x + _MARGIN, y + _MARGIN, extent)
        for node, text, x, y, extent in zip(nodes, texts, across, down, widths, strict=True)
    ]
    lines = [_line(boxes[box.node.parent], box, layout) for box in boxes[1:] if not box.node.is_leaf]
    arcs = [_arc(boxes[trace], boxes[antecedent]) for trace, antecedent in find_antecedents(nodes).items()]
    right = max(box.x + box.width / 2 for box in boxes)
    bottom = max([box.y + _HALF for box in boxes] + [y - _HALF for points in arcs for _, y in points])
    return Picture(boxes, lines, arcs, right + _MARGIN, bottom + _MARGIN)


def _width(text: str, node: Node) -> float:
    extent = width(text, _SIZES[node.kind], bold=node.kind == "label")
    if node.percent:
        extent += width(node.percent, _NUMBER) + 3.0
    return extent if node.probability is None else extent + 2 * _PAD


def _downward(nodes: Sequence[Node], widths: list[float], *, aligned: bool) -> tuple[list[float], list[float]]:
    """The x and y coordinates of the nodes' centers, from top to bottom."""
    levels = bottom_up_levels(nodes) if aligned else [node.depth for node in nodes]
    across = center_nodes(nodes, widths, _GAP, levels)
    down = [level * _LEVEL + _HALF for level in levels]
    for number, node in enumerate(nodes):
        if node.is_leaf:
            down[number] = down[node.parent] + _WORD
    return across, down


def _sideways(nodes: Sequence[Node], widths: list[float]) -> tuple[list[float], list[float]]:
    """The x and y coordinates of the nodes' centers, from left to right; the widest node of a level is its width."""
    levels = bottom_up_levels(nodes)
    down = center_nodes(nodes, [2 * _HALF] * len(nodes), 0.0, levels)
    columns = [0.0] * (max(levels) + 1)
    for level, extent in zip(levels, widths, strict=True):
        columns[level] = max(columns[level], extent)
    gaps = [2 * _GAP] * (len(columns) - 2) + [0.7 * _GAP]  # words are close to their tags
    starts = list(accumulate((column + gap for column, gap in zip(columns, gaps, strict=False)), initial=0.0))
    return [starts[level] + extent / 2 for level, extent in zip(levels, widths, strict=True)], down


def _line(parent: Box, child: Box, layout: Layout) -> tuple[tuple[float, float], ...]:
    if layout == "sideways":
        left, right = parent.x + parent.width / 2 + 3, child.x - child.width / 2 - 3
        bar = left + 5
        return ((left, parent.y), (bar, parent.y), (bar, child.y), (right, child.y))
    top, bottom = parent.y + _HALF, child.y - _HALF
    if layout == "aligned":
        bar = top + 5
        return ((parent.x, top), (parent.x, bar), (child.x, bar), (child.x, bottom))
    return ((parent.x, top), (child.x, bottom))


def _arc(trace: Box, antecedent: Box) -> tuple[tuple[float, float], ...]:
    """A curve from below an empty element to the far side of its antecedent."""
    side = -1.0 if antecedent.x < trace.x else 1.0
    start, low = trace.y + _HALF, trace.y + _HALF + _ARC
    edge = antecedent.x + side * (antecedent.width / 2 + 3)
    return ((trace.x, start), (trace.x, low), (edge + side * _ARC, low), (edge, antecedent.y))


def _points(line: Sequence[tuple[float, float]]) -> list[str]:
    return [f"{_n(x)} {_n(y)}" for x, y in line]


def _texts(boxes: Sequence[Box], layout: Layout, palette: Theme) -> list[str]:
    elements: list[str] = []
    inks = {"label": palette.ink, "tag": palette.muted, "word": palette.ink, "trace": palette.muted}
    kinds = {box.node.kind for box in boxes} | {"label", "tag", "word"}
    for kind, ink in inks.items():
        if kind not in kinds:
            continue
        weight = ' font-weight="600"' if kind == "label" else ""
        elements.append(f'<g class="{kind}s" font-size="{_n(_SIZES[kind])}" fill="{to_hex(ink)}"{weight}>')
        for box in boxes:
            y = box.y + 0.35 * _SIZES[kind]
            if box.node.kind != kind or not box.text:
                continue
            if box.node.probability is not None:
                elements.append(_filled(box, y, palette.fill(box.node.probability)))
            elif layout == "sideways":
                elements.append(text_element(box.text, box.x - box.width / 2, y, ' text-anchor="start"'))
            else:
                elements.append(text_element(box.text, box.x, y))
        elements.append("</g>")
    return elements


def text_element(text: str, x: float, y: float, extra: str = "") -> str:
    """A text element at a point, with fonts for its letters."""
    first = families(text)
    family = f' font-family="{first}"' if first != LATIN else ""
    return f'<text x="{_n(x)}" y="{_n(y)}"{family}{extra}>{escape(text, quote=False)}</text>'


def families(text: str) -> str:
    """The font families of a text, in order of preference.

    A font with all its letters is first, because programs that choose a fallback font per letter may choose a bold one.
    """
    if is_ideographic(text):
        return _IDEOGRAPHIC + LATIN
    return _RIGHT_TO_LEFT + LATIN if is_right_to_left([text]) else LATIN


def _filled(box: Box, y: float, fill: Color) -> str:
    """A label and its probability, on a box with the probability's color."""
    left, right = box.x - box.width / 2, box.x + box.width / 2
    ink = f' fill="{to_hex(ink_on(fill))}"'
    elements = (
        f'<rect x="{_n(left)}" y="{_n(box.y - _HALF + 1)}" width="{_n(box.width)}" height="{_n(2 * _HALF - 2)}" '
        f'rx="4" fill="{to_hex(fill)}"/>'
    )
    if not box.node.percent:
        return elements + text_element(box.text, box.x, y, ink)
    small = f' text-anchor="end" font-size="{_NUMBER}" font-weight="400"'
    elements += text_element(box.text, left + _PAD, y, f' text-anchor="start"{ink}')
    return elements + text_element(box.node.percent, right - _PAD, y, small + ink)


def _legend(palette: Theme, top: float) -> list[str]:
    """The color scale, with labels at both ends and in the middle."""
    x, y, cell, steps = _MARGIN + 6, top + 2, 15.0, 10
    elements = [f'<g class="legend" font-size="10" fill="{to_hex(palette.muted)}">']
    for step in range(steps):
        fill = to_hex(palette.fill((step + 0.5) / steps))
        elements.append(f'<rect x="{_n(x + step * cell)}" y="{_n(y)}" width="{_n(cell)}" height="10" fill="{fill}"/>')
    for position, name in ((0, "0 %"), (steps / 2, "probability"), (steps, "100 %")):
        elements.append(text_element(name, x + position * cell, y + 22))
    return [*elements, "</g>"]


def _n(value: float) -> str:
    """A number with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
