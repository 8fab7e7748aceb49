"""Trees as files of any format: PNG and PDF, converted from SVG, pages of pictures, text and LaTeX."""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from string import Template
from typing import Any, Literal

from treecrf import import_extra
from treecrf.files import write_file
from treecrf.trees.drawing.colors import get_theme, to_hex
from treecrf.trees.drawing.latex import Package, document, latex
from treecrf.trees.drawing.svg import Layout, families, svg
from treecrf.trees.drawing.terminal import text
from treecrf.trees.drawing.text_metrics import escape_invisible
from treecrf.trees.drawing.tree_files import DrawableTree
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
    return bytes(_import_renderer("vl_convert").svg_to_png(source, scale=scale or min(_SCALE, max_scale)))


def pdf(*pictures: Tree | str) -> bytes:
    """Trees, or pictures from `svg`, as a PDF with one page each; its text is searchable."""
    if not pictures:
        raise ValueError("no pictures; a PDF needs a page")
    convert = _import_renderer("vl_convert").svg_to_pdf
    sources = [svg(picture) if isinstance(picture, Tree) else picture for picture in pictures]
    pages = [bytes(convert(_limit_size(source, _MAX_SIDE_POINTS))) for source in sources]
    if len(pages) == 1:
        return pages[0]
    writer = _import_renderer("pypdf").PdfWriter()
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
    _import_renderer("vl_convert").register_font_directory(str(path.resolve()))


def without_font(letters: str) -> str:
    """The letters that no font has; PNG and PDF show them as boxes."""
    render = _import_renderer("vl_convert").svg_to_png
    boxes = {fonts: render(_letter_svg(_WITHOUT_FONT, fonts)) for fonts in map(families, letters)}
    return "".join(
        letter for letter in letters if render(_letter_svg(letter, families(letter))) == boxes[families(letter)]
    )


def _letter_svg(letter: str, fonts: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" font-size="20">'
        f'<text x="4" y="24" font-family="{fonts}">{escape(letter, quote=False)}</text></svg>'
    )


def _import_renderer(name: str) -> Any:
    return import_extra(name, f"PNG and PDF need {name}", "draw")


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


Format = Literal["text", "svg", "png", "pdf", "html", "forest", "tikz-qtree"]

# the suffix of each format's files; a suffix stands for the first format that has it
SUFFIXES: dict[Format, str] = {
    "text": ".txt",
    "svg": ".svg",
    "png": ".png",
    "pdf": ".pdf",
    "html": ".html",
    "forest": ".tex",
    "tikz-qtree": ".tex",
}
# the formats for which each option has a meaning
OPTION_FORMATS: dict[str, tuple[Format, ...]] = {
    "layout": ("svg", "png", "pdf", "html"),
    "theme": ("svg", "png", "pdf", "html"),
    "transparent": ("svg", "png", "pdf", "html"),
    "scale": ("png",),
    "fonts": ("png", "pdf"),
    "width": ("text",),
}
_CHECKED_CHARACTERS = 100


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """The format of rendered trees, and its options."""

    format: Format
    layout: Layout = "tidy"
    theme: str = "light"
    transparent: bool = False
    scale: float | None = None
    width: int = 100  # columns of text


def format_of(output: str) -> Format:
    """The format that the suffix of a file name stands for."""
    suffix = Path(output).suffix.lower()
    for name, known_suffix in SUFFIXES.items():
        if suffix == known_suffix:
            return name
    raise ValueError(f"{output}: no format has the suffix {suffix!r}; expected one of .svg .png .pdf .html .tex .txt")


def save_tree(tree: Tree, path: str | PathLike[str], *, layout: Layout = "tidy", theme: str = "light") -> None:
    """Draws a tree into a file, in the format of its suffix."""
    options = RenderOptions(format=format_of(fspath(path)), layout=layout, theme=theme)
    write_file(Path(path), render([DrawableTree(tree)], options)[0])


def render(trees: Sequence[DrawableTree], options: RenderOptions) -> list[bytes]:
    """The contents of the files: one per tree for SVG and PNG, one in all for other formats."""
    if options.format == "text":
        drawings = [text(*drawable, width=options.width) for drawable in trees]
        return ["\n\n".join([*drawings, ""])[:-1].encode(errors="replace")]
    if options.format in ("forest", "tikz-qtree"):
        package: Package = "forest" if options.format == "forest" else "tikz-qtree"
        return [document((latex(*drawable, package=package) for drawable in trees), package=package).encode()]
    pictures = [
        svg(*drawable, layout=options.layout, theme=options.theme, transparent=options.transparent)
        for drawable in trees
    ]
    if options.format == "html":
        captions = (f"{number}. {escape_invisible(' '.join(tree.words))}" for number, (tree, _) in enumerate(trees, 1))
        return [page(zip(captions, pictures, strict=True), theme=options.theme).encode()]
    if options.format == "pdf":
        return [pdf(*pictures)]
    return [png(picture, scale=options.scale) if options.format == "png" else picture.encode() for picture in pictures]


def page(pictures: Iterable[tuple[str, str]], *, title: str = "Trees", theme: str = "light") -> str:
    """A page of captions and SVG pictures; wide pictures scroll. The page loads nothing from other places."""
    palette = get_theme(theme)
    colors = {name: to_hex(getattr(palette, name)) for name in ("ink", "background", "muted")}
    figures = "".join(
        f"<figure>\n<figcaption>{escape(caption)}</figcaption>\n{picture}</figure>\n" for caption, picture in pictures
    )
    template = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), figures=figures, **colors)


def characters_without_font(trees: Sequence[DrawableTree]) -> str:
    """The characters of the trees that no installed font has; at most 100 are checked."""
    texts = (node.label + "".join(node.words if node.is_leaf else []) for tree, _ in trees for node in tree.walk())
    characters = sorted({character for text in texts for character in escape_invisible(text) if character > "\u024f"})
    return without_font("".join(characters[:_CHECKED_CHARACTERS]))


def file_names(output: str, count: int) -> list[str]:
    """The names of `count` files: `tree.svg`, or `tree-1.svg`, `tree-2.svg` and so on."""
    if count == 1:
        return [output]
    path, digits = Path(output), len(str(count))
    return [str(path.with_name(f"{path.stem}-{number:0{digits}d}{path.suffix}")) for number in range(1, count + 1)]
