"""Pictures of trees: SVG, and from it PNG, PDF and HTML pages; LaTeX; drawings for the terminal.

`probabilities` is one number for each of `tree.spans()`, in that order, as `Parser.analyze` gives them.
"""

from treecrf.viz.html import page
from treecrf.viz.latex import Package, document, latex
from treecrf.viz.raster import pdf, png, use_fonts, without_font
from treecrf.viz.svg import Layout, svg
from treecrf.viz.terminal import text

__all__ = ["Layout", "Package", "document", "latex", "page", "pdf", "png", "svg", "text", "use_fonts", "without_font"]
