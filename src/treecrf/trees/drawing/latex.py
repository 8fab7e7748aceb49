"""Trees in LaTeX, for the packages forest and tikz-qtree."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from treecrf.trees.drawing.colors import THEMES, Color, ink_on
from treecrf.trees.drawing.layout import Node, find_antecedents, list_nodes
from treecrf.trees.drawing.text_metrics import escape_invisible, is_ideographic
from treecrf.trees.tree import Tree

Package = Literal["forest", "tikz-qtree"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{letter: f"\\{letter}" for letter in "{}$&#_%"},
}
_PATTERN = re.compile(r'[\\~^<>|"{}$&#_%]|-(?=-)')
_MAX_INDENT = 30  # levels
_OPENINGS = {
    "forest": "\\begin{forest}\n  for tree={inner sep=2pt, l sep=8pt, s sep=6pt, rounded corners=2pt},\n"
    "  % where n children=0{tier=word}{}, % puts all words on one line\n",
    "tikz-qtree": "\\begin{tikzpicture}[every node/.style={inner sep=2pt, rounded corners=2pt}]\n\\Tree\n",
}
_CLOSINGS = {"forest": "\\end{forest}\n", "tikz-qtree": "\\end{tikzpicture}\n"}
_CLASSES = {"forest": "[multi=forest, border=6pt]", "tikz-qtree": "[tikz, border=6pt]"}
_FONTS = r"""\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage{lmodern}
\else
  \usepackage{fontspec}
\fi
"""
_IDEOGRAPHIC = "\\usepackage[scheme=plain]{ctex} % takes XeLaTeX or LuaLaTeX\n"


def latex(tree: Tree, probabilities: Sequence[float] | None = None, *, package: Package = "forest") -> str:
    r"""The LaTeX environment of a tree; the document needs `\usepackage{forest}` or `{tikz-qtree}`.

    >>> print(latex(Tree.parse("(NP (CD 50) (NN %))"), package="tikz-qtree"))
    \begin{tikzpicture}[every node/.style={inner sep=2pt, rounded corners=2pt}]
    \Tree
    [.{NP}
      [.{CD} {50} ]
      [.{NN} {\%} ]
    ]
    \end{tikzpicture}
    <BLANKLINE>
    """
    if package not in _OPENINGS:
        raise ValueError(f"package is {package!r}; expected 'forest' or 'tikz-qtree'")
    nodes = list_nodes(tree, probabilities)
    antecedents = find_antecedents(nodes)
    names = {*antecedents, *antecedents.values()}
    lines: list[str] = []
    depths: list[int] = []  # open constituents
    for number, node in enumerate(nodes):
        if node.is_leaf:
            continue
        lines += _close(depths, node.depth)
        indent = "  " * min(node.depth, _MAX_INDENT)
        if node.kind == "tag":
            name = f"n{number + 1}" if number + 1 in names else ""
            lines.append(indent + _leaf(node.text, nodes[number + 1].text, name, package))
        else:
            lines.append(indent + _opening(node, f"n{number}" if number in names else "", package))
            depths.append(node.depth)
    lines += _close(depths, 0)
    lines += [f"\\draw[dashed, ->] (n{trace}) to[out=south, in=south west] (n{n});" for trace, n in antecedents.items()]
    return _color_definitions(probabilities or ()) + _OPENINGS[package] + "\n".join(lines) + "\n" + _CLOSINGS[package]


def _close(depths: list[int], depth: int) -> Iterator[str]:
    """The closing brackets of the open constituents at `depth` and below."""
    while depths and depths[-1] >= depth:
        yield "  " * min(depths.pop(), _MAX_INDENT) + "]"


def document(trees: Iterable[str], *, package: Package = "forest") -> str:
    """A standalone document of trees from `latex`, one per page."""
    body = "\n".join(trees)
    cjk = _IDEOGRAPHIC if is_ideographic(body) else ""
    head = f"\\documentclass{_CLASSES[package]}{{standalone}}\n{_FONTS}{cjk}\\usepackage{{{package}}}\n"
    return f"{head}\\begin{{document}}\n{body}\\end{{document}}\n"


def escape_latex(text: str) -> str:
    r"""Escapes the special characters of LaTeX.

    >>> escape_latex("50% of $5_000 -- {a}")
    '50\\% of \\$5\\_000 -{}- \\{a\\}'
    """
    return _PATTERN.sub(lambda match: _SPECIAL.get(match[0], "-{}"), escape_invisible(text))


def _leaf(tag: str, word: str, name: str, package: Package) -> str:
    text = f"{{{escape_latex(word)}}}"
    if package == "forest":
        return f"[{{{escape_latex(tag)}}} [{text}{name and f', name={name}'}]]"
    return f"[.{{{escape_latex(tag)}}} {_node(name, text) if name else text} ]"


def _opening(node: Node, name: str, package: Package) -> str:
    text, styles = escape_latex(node.text), []
    if node.percent:
        text += rf"\,{{\scriptsize {escape_latex(node.percent)}}}"
    if node.probability is not None:
        percent = _percent(node.probability)
        styles = [f"fill=certain{percent}", f"text={'white' if ink_on(_fill(percent))[0] else 'black'}"]
    if package == "forest":
        return ", ".join([f"[{{{text}}}", *styles, *([f"name={name}"] if name else [])])
    text = f"{{{text}}}"
    return f"[.{_node(name, text, styles) if styles or name else text}"


def _node(name: str, text: str, styles: Sequence[str] = ()) -> str:
    """A node of TikZ with a name or styles."""
    return "".join(["\\node", name and f"({name})", f"[{', '.join(styles)}]" if styles else "", text, ";"])


def _color_definitions(probabilities: Sequence[float]) -> str:
    """Definitions of the colors that `_opening` uses."""
    fills = {percent: _fill(percent) for percent in sorted(map(_percent, probabilities))}
    return "".join(f"\\definecolor{{certain{percent}}}{{RGB}}{{{r},{g},{b}}}\n" for percent, (r, g, b) in fills.items())


def _percent(probability: float) -> int:
    return round(100 * min(max(probability, 0.0), 1.0))


def _fill(percent: int) -> Color:
    return THEMES["light"].fill(percent / 100)
