"""Pictures of trees: SVG, PNG, PDF, HTML pages, LaTeX, and drawings for the terminal.

`probabilities` has one number for each of `tree.spans()`, in that order, as in the result of `Parser.analyze`.
"""

from treecrf.viz.html import page
from treecrf.viz.latex import Package, document, latex
from treecrf.viz.raster import pdf, png, use_fonts, without_font
from treecrf.viz.svg import Layout, svg
from treecrf.viz.terminal import text

__all__ = ["Layout", "Package", "document", "latex", "page", "pdf", "png", "svg", "text", "use_fonts", "without_font"]
