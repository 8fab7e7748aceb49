import io
import struct
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from strategies import deep_tree, wide_tree
from treecrf.trees.drawing import latex, page, pdf, png, svg, text, use_fonts, without_font
from treecrf.trees.drawing import render as render_module
from treecrf.trees.drawing.render import RenderOptions, characters_without_font, file_names, format_of, render
from treecrf.trees.drawing.tree_files import DrawableTree
from treecrf.trees.tree import Tree

TREE = Tree.parse("(TOP (NP (DT the) (NN flower)))")
TREES = [DrawableTree(Tree.parse(f"(S (NN {word}))"), [0.5]) for word in ("cat", "dog")]

needs_renderers = pytest.mark.skipif(
    find_spec("vl_convert") is None or find_spec("pypdf") is None, reason="needs vl_convert and pypdf"
)


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.svg", "svg"), ("b.PNG", "png"), ("c.tex", "forest"), ("d.txt", "text"), ("e.pdf", "pdf"), ("f.html", "html")],
)
def test_a_suffix_stands_for_a_format(name, format):
    assert format_of(name) == format


def test_an_unknown_suffix_is_an_error():
    with pytest.raises(ValueError, match=r"x\.gif: no format has the suffix '\.gif'"):
        format_of("x.gif")


def test_pictures_are_files_of_their_own_and_other_formats_are_one_file():
    assert render(TREES, RenderOptions(format="svg")) == [svg(*drawable).encode() for drawable in TREES]
    (lines,) = render(TREES, RenderOptions(format="text", width=40))
    assert lines.decode() == "\n\n".join(text(*drawable, width=40) for drawable in TREES) + "\n"
    (page,) = render(TREES, RenderOptions(format="html", theme="dark"))
    assert b"<figcaption>1. cat</figcaption>" in page and b"<figcaption>2. dog</figcaption>" in page
    for package in ("forest", "tikz-qtree"):
        (document,) = render(TREES, RenderOptions(format=package))
        assert all(latex(*drawable, package=package) in document.decode() for drawable in TREES)


def test_files_of_several_pictures_are_numbered_with_equal_length():
    assert file_names("out/tree.svg", 1) == ["out/tree.svg"]
    assert file_names("out/tree.svg", 10)[::9] == ["out/tree-01.svg", "out/tree-10.svg"]


def test_latin_letters_need_no_font(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("treecrf.trees.drawing.render.without_font", lambda characters: characters)
    assert characters_without_font([DrawableTree(Tree.parse("(\u0416 (NN a\u024f\u0250))"))]) == "\u0250\u0416"


@needs_renderers
def test_characters_that_no_font_has_are_found():
    assert characters_without_font([DrawableTree(Tree.parse("(S (NN \U0010fff0a))"))]) == "\U0010fff0"
    assert characters_without_font(TREES) == ""


def test_a_page_contains_every_picture_and_escapes_captions():
    pictures = [(f"{number}. <b>&", svg(Tree.parse(f"(NP (NN w{number}))"))) for number in (1, 2)]
    html = page(pictures, title="a < b", theme="dark")
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(html)
    assert tags.count("svg") == tags.count("figure") == 2 and "b" not in tags and "script" not in tags
    assert all(picture in html for _, picture in pictures)
    assert "1. &lt;b&gt;&amp;" in html and "<title>a &lt; b</title>" in html


def test_only_a_picture_that_is_too_large_is_scaled():
    picture = svg(Tree.parse("(S (A a) (B b))"))
    width, height = render_module._size(picture)
    assert render_module._limit_size(picture, 1.5 * max(width, height)) == picture
    assert max(render_module._size(render_module._limit_size(picture, max(width, height) / 2))) == pytest.approx(
        max(width, height) / 2, abs=0.01
    )


def size(image: bytes) -> tuple[int, int]:
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    return width, height


@needs_renderers
def test_a_tree_and_its_picture_give_the_same_image():
    assert png(TREE) == png(svg(TREE)) != png(svg(TREE, theme="dark"))


@needs_renderers
def test_scale_is_the_number_of_pixels_per_unit():
    (width, height), (large, tall) = size(png(TREE, scale=1)), size(png(TREE, scale=3))
    assert large == pytest.approx(3 * width, abs=3) and tall == pytest.approx(3 * height, abs=3)
    assert png(TREE) == png(TREE, scale=2)


@needs_renderers
def test_large_images_are_scaled_down():
    width, height = size(png(deep_tree(3000)))
    assert max(width, height) <= 16_000 and width * height <= 50_100_000
    with pytest.raises(ValueError, match=r"scale is 1 .*; expected more than 0, and .* at most 0.\d\d"):
        png(deep_tree(3000), scale=1)
    with pytest.raises(ValueError, match=r"at most 0\.71"):  # 50 million pixels
        png('<svg width="10000" height="10000">', scale=1)


@needs_renderers
@pytest.mark.parametrize("scale", [0, -1, float("nan")])
def test_a_scale_is_positive(scale):
    with pytest.raises(ValueError, match="expected more than 0"):
        png(TREE, scale=scale)


@needs_renderers
def test_a_pdf_has_one_page_per_tree_and_searchable_text():
    import pypdf

    other = Tree.parse("(TOP (NP (NN “second”)))")
    reader = pypdf.PdfReader(io.BytesIO(pdf(TREE, svg(other), wide_tree(1000))))
    texts = [page.extract_text() for page in reader.pages]
    assert "flower" in texts[0] and "second" in texts[1] and "w999" in texts[2]
    assert float(reader.pages[2].mediabox.width) <= 14_400
    assert pdf(TREE).startswith(b"%PDF-")
    (file,) = render(TREES, RenderOptions(format="pdf"))
    texts = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(file)).pages]
    assert len(texts) == 2 and "cat" in texts[0] and "dog" in texts[1]


@needs_renderers
def test_a_text_that_is_no_picture_is_an_error(tmp_path: Path):
    with pytest.raises(ValueError, match="is no picture; expected a Tree or the result of svg"):
        png("(TOP (NN cat))")
    with pytest.raises(ValueError, match="a PDF needs a page"):
        pdf()
    with pytest.raises(NotADirectoryError, match="is not a folder of fonts"):
        use_fonts(tmp_path / "nowhere")


@needs_renderers
def test_letters_without_a_font_are_listed():
    assert without_font("ab\U0010fffc\u0416") == "\U0010fffc"
    assert without_font("") == ""


@needs_renderers
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(ImportError, match=r"need vl_convert: pip install 'treecrf\[draw\]'"):
        png(TREE)
