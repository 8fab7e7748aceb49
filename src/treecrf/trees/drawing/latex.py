"""Trees in LaTeX, for the packages forest and tikz-qtree."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from treecrf.trees.drawing.colors import THEMES, Color, check_probabilities, format_probability, ink_on
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
    spans = tree.spans()
    check_probabilities(probabilities, len(spans))
    numbers = iter(probabilities if probabilities is not None else [None] * len(spans))
    lines: list[str] = []
    stack: list[tuple[Tree | None, int]] = [(tree, 0)]  # None closes a constituent
    while stack:
        node, depth = stack.pop()
        indent = "  " * min(depth, _MAX_INDENT)
        if node is None:
            lines.append(f"{indent}]")
        elif isinstance(word := node.children[0], str):
            lines.append(indent + _leaf(node.label, word, package))
        else:
            lines.append(indent + _opening(node.label, next(numbers), package))
            stack.append((None, depth))
            stack += [(child, depth + 1) for child in reversed(node.child_trees)]
    return _color_definitions(probabilities or ()) + _OPENINGS[package] + "\n".join(lines) + "\n" + _CLOSINGS[package]


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


def _leaf(tag: str, word: str, package: Package) -> str:
    if package == "forest":
        return f"[{{{escape_latex(tag)}}} [{{{escape_latex(word)}}}]]"
    return f"[.{{{escape_latex(tag)}}} {{{escape_latex(word)}}} ]"


def _opening(label: str, probability: float | None, package: Package) -> str:
    text = escape_latex(label)
    if probability is None:
        return f"[{{{text}}}" if package == "forest" else f"[.{{{text}}}"
    if number := format_probability(probability):
        text += rf"\,{{\scriptsize {number}}}"
    ink = "white" if ink_on(_fill(_percent(probability)))[0] else "black"
    style = f"fill=certain{_percent(probability)}, text={ink}"
    return f"[{{{text}}}, {style}" if package == "forest" else rf"[.\node[{style}]{{{text}}};"


def _color_definitions(probabilities: Sequence[float]) -> str:
    """Definitions of the colors that `_opening` uses."""
    fills = {percent: _fill(percent) for percent in sorted(map(_percent, probabilities))}
    return "".join(f"\\definecolor{{certain{percent}}}{{RGB}}{{{r},{g},{b}}}\n" for percent, (r, g, b) in fills.items())


def _percent(probability: float) -> int:
    return round(100 * min(max(probability, 0.0), 1.0))


def _fill(percent: int) -> Color:
    return THEMES["light"].fill(percent / 100)
