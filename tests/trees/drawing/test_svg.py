import itertools
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given

from strategies import deep_tree, trees, wide_tree
from toygrammar import toy_trees
from treecrf.trees.analysis import Analysis, Constituent
from treecrf.trees.drawing import svg
from treecrf.trees.drawing.layout import list_nodes
from treecrf.trees.drawing.svg import Box, _arc, arrange
from treecrf.trees.drawing.text_metrics import escape_invisible, width
from treecrf.trees.tree import Tree

TREES = toy_trees(5)
LAYOUTS = ["tidy", "aligned", "sideways"]
TREE = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))")
NAME = "{http://www.w3.org/2000/svg}"


def read(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)


def texts(picture: str, kind: str) -> list[Any]:
    return [element.text for element in read(picture).findall(f"{NAME}g[@class='{kind}']/{NAME}text")]


def places(picture: str, kind: str) -> list[tuple[float, float]]:
    found = read(picture).findall(f"{NAME}g[@class='{kind}']/{NAME}text")
    return [(float(element.get("x", "")), float(element.get("y", ""))) for element in found]


@pytest.mark.parametrize("layout", LAYOUTS)
@given(tree=trees())
def test_every_tree_is_valid_xml_with_its_text(tree, layout):
    picture = svg(tree, layout=layout)
    assert texts(picture, "words") == [escape_invisible(word) for word in tree.words if word]
    assert texts(picture, "labels") == [escape_invisible(span.label) for span in tree.spans() if span.label]
    assert read(picture).findtext(f"{NAME}title") == " ".join(map(escape_invisible, tree.words))


def test_markup_in_words_stays_text():
    tree = Tree("TOP", (Tree("<script>", ("</text><script>alert(1)</script>&",)),))
    picture = svg(tree)
    assert not [element for element in read(picture).iter() if element.tag.endswith("script")]
    assert texts(picture, "words") == tree.words


def test_a_picture_has_no_references():
    picture = svg(TREE, [1.0, 0.9, 0.5, 0.2])
    root = read(picture)
    assert root.get("role") == "img" and root.find(f"{NAME}title") is not None and root.find(f"{NAME}desc") is not None
    assert not re.search(r"href|url\(|<style|<script|\bid=|@import", picture)
    size = f"{root.get('width')} {root.get('height')}"
    assert root.get("viewBox") == f"0 0 {size}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_everything_is_inside_the_picture(layout):
    root = read(svg(TREE, [1.0, 0.9, 0.5, 0.2], layout=layout))
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for element in root.iter(f"{NAME}text"):
        assert 0 < float(element.get("x", "")) < width and 0 < float(element.get("y", "")) < height


def test_layouts_place_words():
    tidy, aligned, sideways = (places(svg(TREE, layout=layout), "words") for layout in LAYOUTS)
    assert len({y for _, y in aligned}) == 1
    assert len({x for x, _ in sideways}) == 1 and sideways == sorted(sideways, key=lambda place: place[1])
    for row in (tidy, aligned):
        assert row == sorted(row)


def test_right_to_left_sentences_are_drawn_from_right_to_left():
    tree = Tree.parse("(TOP (S (NP (NN ילדה)) (VP (VB קראה) (NN ספר)) (PUNC .)))")
    row = places(svg(tree, layout="aligned"), "words")
    assert row == sorted(row, reverse=True)
    assert "DejaVu Sans" in svg(tree)


def test_probabilities_become_colors_numbers_and_a_legend():
    picture = svg(TREE, [1.0, 1.0, 0.5, 0.25])
    group = read(picture).find(f"{NAME}g[@class='labels']")
    assert group is not None
    fills = [element.get("fill") for element in group.findall(f"{NAME}rect")]
    assert fills[0] == fills[1] and len(set(fills)) == 3
    assert texts(picture, "labels") == ["TOP", "S", "NP", "50 %", "VP", "25 %"]
    assert texts(picture, "legend") == ["0 %", "probability", "100 %"]
    assert "legend" not in svg(TREE)


def test_themes_differ_in_background_and_transparent_pictures_have_none():
    assert svg(TREE, theme="dark") != svg(TREE)
    assert "<rect" in svg(TREE) and "<rect" not in svg(TREE, transparent=True)


def test_wrong_arguments_are_errors():
    with pytest.raises(
        ValueError, match=r"3 probabilities for 4 constituents; expected one for each of tree.spans\(\)"
    ):
        svg(TREE, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="layout is 'round'; expected 'tidy', 'aligned' or 'sideways'"):
        svg(TREE, layout="round")  # type: ignore[arg-type]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tree", [deep_tree(5000), wide_tree(1000)], ids=["deep", "wide"])
def test_large_trees_are_drawn(tree, layout):
    assert len(texts(svg(tree, layout=layout), "words")) == len(tree.words)


def test_a_notebook_shows_a_tree():
    formatters = pytest.importorskip("IPython.core.formatters")
    data, _ = formatters.DisplayFormatter().format(TREE)
    assert svg(TREE) in data["text/html"]
    assert data["text/plain"] == repr(TREE)


def test_a_notebook_shows_an_analysis_in_colors():
    numbers = [0.9, 0.8, 0.7, 0.6]
    constituents = tuple(Constituent(*span, 0.5, number) for span, number in zip(TREE.spans(), numbers, strict=True))
    analysis = Analysis(TREE, -1.0, 0.4, 0.1, constituents, (), True)
    assert analysis._repr_svg_() == svg(TREE, numbers)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_widest_box_and_the_lowest_row_have_a_margin_of_14(layout):
    picture = arrange(list_nodes(TREE), layout)
    assert picture.width == max(box.x + box.width / 2 for box in picture.boxes) + 14
    assert picture.height == max(box.y for box in picture.boxes) + 24
    assert min(box.x - box.width / 2 for box in picture.boxes) == pytest.approx(14)


def test_a_colored_box_is_wider_than_its_label_and_its_number():
    plain, colored = (arrange(list_nodes(TREE, numbers), "tidy").boxes for numbers in (None, [1.0, 1.0, 0.5, 0.25]))
    difference = [round(box.width - other.width, 2) for box, other in zip(colored, plain, strict=True)]
    number_width = round(width("50 %", 9.5) + 3, 2)
    assert difference[:3] == [10, 10, 10 + number_width] and [box.node.kind for box in plain[:3]] == ["label"] * 3


def test_words_of_a_sideways_tree_are_20_units_apart():
    rows = [y for _, y in places(svg(TREE, layout="sideways"), "words")]
    assert [second - first for first, second in itertools.pairwise(rows)] == pytest.approx([20, 20])


KIM = Tree.parse(
    "(TOP (S (NP (NP (DT the) (JJ old) (NN cat)) (PP (IN of) (NP (NNP Kim)))) (VP (VBD saw) (NP (NNS 木々))) (. .)))"
)
PICTURES = {
    "tidy": {"probabilities": None},
    "tidy-light": {"probabilities": [1.0, 0.99, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1]},
    "aligned-dark": {"probabilities": [0.9, 0.99, 0.8, 0.65, 0.4, 0.3, 0.2, 0.05], "theme": "dark"},
    "sideways-light": {"probabilities": [1.0, 0.99, 0.8, 0.6, 0.4, 0.3, 0.2, 0.0], "transparent": True},
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_was_looked_at(name):
    """After a change of the drawing, look at the new pictures and replace the files."""
    expected = (Path(__file__).parents[2] / "data" / "drawing" / f"{name}.svg").read_text(encoding="utf-8")
    assert svg(KIM, layout=name.split("-")[0], **PICTURES[name]) + "\n" == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_arc_connects_a_trace_with_its_antecedent(layout):
    tree = Tree.parse("(S (NP-SBJ-1 (NNS trees)) (VP (VBP are) (VP (VBN cut) (NP (-NONE- *-1)))))")
    picture = arrange(list_nodes(tree), layout)
    ((start, *_, end),) = picture.arcs
    boxes = {box.text: box for box in picture.boxes}
    assert start == (boxes["*-1"].x, boxes["*-1"].y + 10) and end[1] == boxes["NP-SBJ-1"].y
    assert abs(end[0] - boxes["NP-SBJ-1"].x) > boxes["NP-SBJ-1"].width / 2 and picture.height > start[1] + 14
    assert svg(tree, layout=layout).count('class="arc"') == 1 and 'class="arc"' not in svg(tree.plain(), layout=layout)
    assert svg(tree, [0.5] * len(tree.spans()), layout=layout).count("50 %") == len(tree.spans())


def test_an_arc_ends_at_the_far_side_of_the_antecedent():
    trace, left, right = (Box(None, "", x, 10.0, 20.0) for x in (100.0, 30.0, 200.0))
    assert _arc(trace, left)[-1] == (30 - 13, 10)
    assert _arc(trace, right)[-1] == (200 + 13, 10)


def test_a_right_to_left_picture_is_the_mirror_image_in_the_same_place():
    tree = "(S (NP (N {0}) (N {0}{0})) (V {0}))"
    latin, hebrew = (list_nodes(Tree.parse(tree.format(word))) for word in ("a", "\u05d0"))
    edges = [min(box.x - box.width / 2 for box in arrange(nodes, "tidy").boxes) for nodes in (latin, hebrew)]
    assert edges[0] == pytest.approx(edges[1], abs=0.01)
