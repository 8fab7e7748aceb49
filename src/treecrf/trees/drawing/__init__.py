"""Pictures of trees: SVG, PNG, PDF, HTML pages, LaTeX, and drawings for the terminal.

`probabilities` has one number for each of `tree.spans()`, in that order, as in the result of `Parser.analyze`.
"""

from treecrf.trees.drawing.latex import Package, document, latex
from treecrf.trees.drawing.render import page, pdf, png, use_fonts, without_font
from treecrf.trees.drawing.svg import Layout, svg
from treecrf.trees.drawing.terminal import text

__all__ = ["Layout", "Package", "document", "latex", "page", "pdf", "png", "svg", "text", "use_fonts", "without_font"]
