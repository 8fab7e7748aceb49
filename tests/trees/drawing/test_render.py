from html.parser import HTMLParser

import pytest

from treecrf.trees.drawing import latex, page, svg, text
from treecrf.trees.drawing import render as render_module
from treecrf.trees.drawing.render import RenderOptions, characters_without_font, file_names, format_of, render
from treecrf.trees.drawing.tree_files import DrawableTree
from treecrf.trees.tree import Tree

TREES = [DrawableTree(Tree.parse(f"(S (NN {word}))"), [0.5]) for word in ("cat", "dog")]


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


def test_characters_that_no_font_has_are_found():
    pytest.importorskip("vl_convert")
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
