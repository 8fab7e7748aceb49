"""Pictures as PNG and PDF, converted from SVG."""

import io
import re
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from treecrf.trees.drawing.svg import families, svg
from treecrf.trees.tree import Tree

_SIZE = re.compile(r'(?<= width=")([0-9.]+)" height="([0-9.]+)(?=")')
_SCALE = 2.0
_MAX_PIXELS = 50_000_000
_MAX_SIDE_PIXELS = 16_000  # many programs cannot show more
_MAX_SIDE_POINTS = 14_400  # the largest side of a PDF page
_WITHOUT_FONT = "\U0010fffd"  # a character that no font has


def png(picture: Tree | str, *, scale: float | None = None) -> bytes:
    """A tree, or a picture from `svg`, as PNG.

    The default scale is two pixels per unit, or less for an image of more than 16,000 pixels per side or 50 million
    pixels.
    """
    source = svg(picture) if isinstance(picture, Tree) else picture
    width, height = _size(source)
    max_scale = min(_MAX_SIDE_PIXELS / max(width, height), (_MAX_PIXELS / (width * height)) ** 0.5)
    if scale is not None and not 0 < scale <= max_scale:
        raise ValueError(
            f"scale is {scale} for a picture of {width:.0f} by {height:.0f} units; expected more than 0, "
            f"and for an image that programs can show at most {max_scale:.2f}"
        )
    return bytes(_import_optional("vl_convert").svg_to_png(source, scale=scale or min(_SCALE, max_scale)))


def pdf(*pictures: Tree | str) -> bytes:
    """Trees, or pictures from `svg`, as a PDF with one page each; its text is searchable."""
    if not pictures:
        raise ValueError("no pictures; a PDF needs a page")
    convert = _import_optional("vl_convert").svg_to_pdf
    sources = [svg(picture) if isinstance(picture, Tree) else picture for picture in pictures]
    pages = [bytes(convert(_limit_size(source, _MAX_SIDE_POINTS))) for source in sources]
    if len(pages) == 1:
        return pages[0]
    writer = _import_optional("pypdf").PdfWriter()
    for page in pages:
        writer.append(io.BytesIO(page))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def use_fonts(folder: str | Path) -> None:
    """Adds the fonts in a folder to the installed fonts, for PNG and PDF."""
    path = Path(folder)
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is not a folder of fonts")
    _import_optional("vl_convert").register_font_directory(str(path.resolve()))


def without_font(letters: str) -> str:
    """The letters that no font has; PNG and PDF show them as boxes."""
    render = _import_optional("vl_convert").svg_to_png
    boxes = {fonts: render(_letter_svg(_WITHOUT_FONT, fonts)) for fonts in map(families, letters)}
    return "".join(
        letter for letter in letters if render(_letter_svg(letter, families(letter))) == boxes[families(letter)]
    )


def _letter_svg(letter: str, fonts: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" font-size="20">'
        f'<text x="4" y="24" font-family="{fonts}">{escape(letter, quote=False)}</text></svg>'
    )


def _import_optional(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"PNG and PDF need {name}: pip install 'treecrf[draw]'") from error


def _size(source: str) -> tuple[float, float]:
    match = _SIZE.search(source)
    if not match:
        raise ValueError(f"{source!r:.60} is no picture; expected a Tree or the result of svg()")
    return float(match[1]), float(match[2])


def _limit_size(source: str, max_side: float) -> str:
    """Scales a picture down to a maximal side."""
    width, height = _size(source)
    scale = max_side / max(width, height)
    return source if scale >= 1 else _SIZE.sub(f'{width * scale:.2f}" height="{height * scale:.2f}', source, count=1)
