"""Pictures as PNG and PDF, from their SVG."""

import io
import re
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from treecrf.tree import Tree
from treecrf.viz.svg import families, svg

_SIZE = re.compile(r'(?<= width=")([0-9.]+)" height="([0-9.]+)(?=")')
_SCALE = 2.0
_MOST_PIXELS = 50_000_000
_MOST_PIXELS_A_SIDE = 16_000  # beyond which many programs show nothing
_MOST_POINTS_A_SIDE = 14_400  # of a PDF page
_NOWHERE = "\U0010fffd"  # a character that no font has


def png(picture: Tree | str, *, scale: float | None = None) -> bytes:
    """A tree, or a picture that `svg` made, as PNG.

    Without a scale there are two pixels to a unit, or fewer where the image would have more than 16,000 pixels a side
    or 50 million in all.
    """
    source = svg(picture) if isinstance(picture, Tree) else picture
    width, height = _size(source)
    most = min(_MOST_PIXELS_A_SIDE / max(width, height), (_MOST_PIXELS / (width * height)) ** 0.5)
    if scale is not None and not 0 < scale <= most:
        raise ValueError(
            f"scale is {scale} for a picture of {width:.0f} by {height:.0f} units; expected more than 0, "
            f"and for an image that programs can show at most {most:.2f}"
        )
    return bytes(_installed("vl_convert").svg_to_png(source, scale=scale or min(_SCALE, most)))


def pdf(*pictures: Tree | str) -> bytes:
    """Trees, or pictures that `svg` made, as a PDF with a page for each; text in it can be searched."""
    if not pictures:
        raise ValueError("no pictures; a PDF needs a page")
    convert = _installed("vl_convert").svg_to_pdf
    sources = [svg(picture) if isinstance(picture, Tree) else picture for picture in pictures]
    pages = [bytes(convert(_shrunk(source, _MOST_POINTS_A_SIDE))) for source in sources]
    if len(pages) == 1:
        return pages[0]
    writer = _installed("pypdf").PdfWriter()
    for page in pages:
        writer.append(io.BytesIO(page))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def use_fonts(folder: str | Path) -> None:
    """Let PNG and PDF use the fonts in a folder, beside those that are installed."""
    path = Path(folder)
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is not a folder of fonts")
    _installed("vl_convert").register_font_directory(str(path.resolve()))


def without_font(letters: str) -> str:
    """Those of the letters that no font has, and that PNG and PDF show as boxes."""
    draw = _installed("vl_convert").svg_to_png
    boxes = {fonts: draw(_alone(_NOWHERE, fonts)) for fonts in map(families, letters)}
    return "".join(letter for letter in letters if draw(_alone(letter, families(letter))) == boxes[families(letter)])


def _alone(letter: str, fonts: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" font-size="20">'
        f'<text x="4" y="24" font-family="{fonts}">{escape(letter, quote=False)}</text></svg>'
    )


def _installed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"PNG and PDF need {name}: pip install 'treecrf[draw]'") from error


def _size(source: str) -> tuple[float, float]:
    match = _SIZE.search(source)
    if not match:
        raise ValueError(f"{source!r:.60} is no picture; expected a Tree or what svg() gives")
    return float(match[1]), float(match[2])


def _shrunk(source: str, most: float) -> str:
    """The picture with no side longer than that."""
    width, height = _size(source)
    scale = most / max(width, height)
    return source if scale >= 1 else _SIZE.sub(f'{width * scale:.2f}" height="{height * scale:.2f}', source, count=1)
