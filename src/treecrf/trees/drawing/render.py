"""Renders trees into files of any format, and pages of pictures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from string import Template
from typing import Literal

from treecrf.files import write_file
from treecrf.trees.drawing.colors import get_theme, to_hex
from treecrf.trees.drawing.latex import Package, document, latex
from treecrf.trees.drawing.raster import pdf, png, without_font
from treecrf.trees.drawing.svg import Layout, svg
from treecrf.trees.drawing.terminal import text
from treecrf.trees.drawing.text_metrics import escape_invisible
from treecrf.trees.drawing.tree_files import DrawableTree
from treecrf.trees.tree import Tree

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
