import io
import struct
from pathlib import Path

import pytest

from strategies import deep_tree, wide_tree
from treecrf.trees.drawing import pdf, png, svg, use_fonts, without_font
from treecrf.trees.tree import Tree

pytest.importorskip("vl_convert")
pypdf = pytest.importorskip("pypdf")

TREE = Tree.parse("(TOP (NP (DT the) (NN flower)))")


def size(image: bytes) -> tuple[int, int]:
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    return width, height


def test_a_tree_and_its_picture_give_the_same_image():
    assert png(TREE) == png(svg(TREE)) != png(svg(TREE, theme="dark"))


def test_scale_is_the_number_of_pixels_per_unit():
    (width, height), (large, tall) = size(png(TREE, scale=1)), size(png(TREE, scale=3))
    assert large == pytest.approx(3 * width, abs=3) and tall == pytest.approx(3 * height, abs=3)


def test_large_images_are_scaled_down():
    width, height = size(png(deep_tree(3000)))
    assert max(width, height) <= 16_000 and width * height <= 50_100_000
    with pytest.raises(ValueError, match=r"scale is 1 .*; expected more than 0, and .* at most 0.\d\d"):
        png(deep_tree(3000), scale=1)


@pytest.mark.parametrize("scale", [0, -1, float("nan")])
def test_a_scale_is_positive(scale):
    with pytest.raises(ValueError, match="expected more than 0"):
        png(TREE, scale=scale)


def test_a_pdf_has_one_page_per_tree_and_searchable_text():
    other = Tree.parse("(TOP (NP (NN “second”)))")
    reader = pypdf.PdfReader(io.BytesIO(pdf(TREE, svg(other), wide_tree(1000))))
    texts = [page.extract_text() for page in reader.pages]
    assert "flower" in texts[0] and "second" in texts[1] and "w999" in texts[2]
    assert float(reader.pages[2].mediabox.width) <= 14_400
    assert pdf(TREE).startswith(b"%PDF-")


def test_a_text_that_is_no_picture_is_an_error(tmp_path: Path):
    with pytest.raises(ValueError, match="is no picture; expected a Tree or the result of svg"):
        png("(TOP (NN cat))")
    with pytest.raises(ValueError, match="a PDF needs a page"):
        pdf()
    with pytest.raises(NotADirectoryError, match="is not a folder of fonts"):
        use_fonts(tmp_path / "nowhere")


def test_letters_without_a_font_are_listed():
    assert without_font("ab\U0010fffc\u0416") == "\U0010fffc"
    assert without_font("") == ""


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(ImportError, match=r"need vl_convert: pip install 'treecrf\[draw\]'"):
        png(TREE)
