"""Pictures of trees: SVG, and from it PNG, PDF and HTML pages; LaTeX; drawings for the terminal.

`probabilities` is one number for each of `tree.spans()`, in that order, as `Parser.analyze` gives them.
"""

from treecrf.draw.latex import Package, document, latex
from treecrf.draw.page import page
from treecrf.draw.raster import pdf, png, use_fonts, without_font
from treecrf.draw.svg import Layout, svg
from treecrf.draw.terminal import text

__all__ = ["Layout", "Package", "document", "latex", "page", "pdf", "png", "svg", "text", "use_fonts", "without_font"]
