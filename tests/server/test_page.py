"""The web page, in a browser and with a server process."""

import csv
import gzip
import io
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from browser_session import PageSession, launch_browser, playwright
from server_process import ServerProcess, start_server
from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.formats import Formatter
from treecrf.trees import drawing
from treecrf.trees.analysis import Analysis, ParsedSentence
from treecrf.trees.dependencies import to_dependencies
from treecrf.trees.drawing.colors import THEMES
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.label_glossary import explain

expect = playwright.expect
TEXT = "The old cat sees a garden. She slept!"
FIRST, SECOND = ["The", "old", "cat", "sees", "a", "garden", "."], ["She", "slept", "!"]
VIEWS = ("tree", "heat", "outline")
SUFFIXES = ("mrg", "jsonl", "csv", "conllu", "pdf")
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
LONG = " ".join(["the old cat sees a garden and"] * 8 + ["she sleeps here ."])
OVERLAPS = """(view) => {
  const boxes = [...view.querySelectorAll("text")].map((text) => text.getBBox());
  const beside = (a, b) => a.x + a.width > b.x + 0.5 && b.x + b.width > a.x + 0.5;
  const meet = (a, b) => beside(a, b) && a.y + a.height / 2 > b.y && b.y + b.height / 2 > a.y;
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => meet(a, b))).length;
}"""
SCALE = "(picture) => picture.getBoundingClientRect().width / picture.viewBox.baseVal.width"
MARKUP = '<img src=x onerror=hit=1> </svg><script>hit=1</script> "&amp; <b>bold</b> {{1}} \\x -- 5%'
OpenSession = Callable[..., PageSession]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a second model, which predicts no tags."""
    folder = tmp_path_factory.mktemp("models") / "other"
    random_parser(toy_trees(20, seed=9)).save(folder)
    return folder


@pytest.fixture(scope="module")
def page_server(model: Path, other: Path) -> Iterator[ServerProcess]:
    with start_server(model, "--model", str(model), str(other)) as server:
        yield server
        assert server.stop() == 0
        assert "Traceback" not in "".join(server.log)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launch_browser() as browser:
        yield browser


@pytest.fixture
def open_session(browser: Any, request: pytest.FixtureRequest) -> Iterator[OpenSession]:
    """Opens sessions, by default with the server of this module."""
    sessions: list[PageSession] = []

    def open_one(url: str | None = None, **options: Any) -> PageSession:
        sessions.append(PageSession(browser, url or request.getfixturevalue("page_server").url, **options))
        return sessions[-1]

    yield open_one
    for session in sessions:
        session.close()


@pytest.fixture(scope="module")
def analysis(parser: Parser) -> Analysis:
    return parser.analyze(FIRST, k=10)


def read_percentage(text: str) -> float:
    """Reads the percentage at the end of a text, as in "42 %" or "< 0.1 %"."""
    return float(text.removesuffix(" %").split()[-1])


def test_typed_text_is_parsed(open_session: OpenSession, parser: Parser) -> None:
    session = open_session().open()
    session.page.fill("#text", "")
    session.page.locator("#text").press_sequentially("she sees a wall .")
    expect(session.page.locator("#view svg")).to_have_attribute("aria-label", "Tree of: she sees a wall .")
    session.wait()
    assert session.texts("#words > *") == ["she", "sees", "a", "wall", "."]
    assert session.copy("brackets") == str(parser.parse(["she", "sees", "a", "wall", "."]))


def test_the_button_parses_pasted_text(open_session: OpenSession, parser: Parser) -> None:
    session = open_session().open()
    session.page.fill("#text", TEXT)
    session.page.click("#parse")
    expect(session.page.locator("#count")).to_have_text("Sentence 1 of 2")
    session.wait()
    assert session.copy("brackets") == str(parser.parse(FIRST))
    session.page.click("#edit")
    session.page.fill("#text", " ")
    session.page.click("#parse")
    expect(session.page.locator("#result")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_constituents_have_the_colors_of_their_probabilities(
    open_session: OpenSession, analysis: Analysis, theme: str
) -> None:
    session = open_session(color_scheme=theme).open(text=TEXT)
    fills = session.attributes("#view g.label > rect", "fill")
    assert len(fills) == len(analysis.constituents)
    for fill, constituent in zip(fills, analysis.constituents, strict=True):
        expected = THEMES[theme].fill(constituent.calibrated)
        assert [int(fill[at : at + 2], 16) for at in (1, 3, 5)] == pytest.approx(expected, abs=1)


def test_hovering_and_focusing_show_a_probability(open_session: OpenSession, analysis: Analysis) -> None:
    session = open_session().open(text=TEXT)
    tooltip = session.page.locator("#tooltip")
    for number, constituent in enumerate(analysis.constituents):
        session.page.locator("#view g.label").nth(number).hover()
        title, meaning, words = tooltip.locator("strong, span").all_inner_texts()
        assert title.split()[0] == constituent.label and meaning == f"{constituent.label}: {explain(constituent.label)}"
        assert words == " ".join(FIRST[constituent.start : constituent.end])
        assert read_percentage(title) == pytest.approx(100 * constituent.calibrated, abs=0.6)
        assert session.texts("#words > .highlighted") == FIRST[constituent.start : constituent.end]
    session.page.mouse.move(1, 1)
    expect(tooltip).to_be_hidden()
    session.page.locator("#view [role=treeitem]").first.focus()
    expect(tooltip).to_be_visible()
    session.page.keyboard.press("ArrowDown")
    focused = session.page.evaluate("[document.activeElement.ariaLevel, document.activeElement.ariaLabel]")
    assert focused[0] == "2" and focused[1].startswith(f"{analysis.constituents[1].label}, probability")
    session.page.keyboard.press("Enter")
    expect(session.page.locator("#span")).to_be_visible()


def test_buttons_and_arrow_keys_go_through_alternatives(open_session: OpenSession, analysis: Analysis) -> None:
    session = open_session().open(text=TEXT)
    alternatives = [other for other in analysis.alternatives if other.tree != analysis.tree]
    alternatives.sort(key=lambda other: -other.log_prob)
    assert len(session.texts("#tree-list label")) == 1 + len(alternatives)
    for number, other in enumerate(alternatives[:3]):
        if number:
            session.page.locator("#tree-list input:checked").press("ArrowDown")
        else:
            session.page.click("#next-tree")
        expect(session.page.locator("#tree-number")).to_contain_text(f"Tree {number + 2} of {1 + len(alternatives)}:")
        assert read_percentage(session.page.inner_text("#tree-number")) == pytest.approx(
            100 * other.calibrated, abs=0.6
        )
        assert session.copy("brackets") == str(other.tree)
        names = session.attributes("#view g.label", "aria-label")
        percentages = [read_percentage(name.removesuffix(", only in this tree")) for name in names]
        expected = [100 * c.calibrated for c in other.constituents]
        assert percentages == pytest.approx(expected, abs=0.6)
    session.page.click("#previous-tree")
    assert session.copy("brackets") == str(alternatives[1].tree)


def test_every_tree_says_what_it_changes(open_session: OpenSession, analysis: Analysis) -> None:
    session = open_session().open(text=TEXT)
    descriptions = session.texts("#tree-list .differences")
    trees = {analysis.tree, *(other.tree for other in analysis.alternatives)}
    assert len(set(descriptions)) == len(descriptions) == len(trees)
    best = analysis.alternatives[0]
    assert descriptions[0].startswith("The parser’s choice")
    for other in analysis.alternatives[1:]:
        assert any("\n".join(other.differences) in text for text in descriptions)
    session.page.click("#trees summary")
    rows = dict(zip(session.texts("#numbers dt"), session.texts("#numbers dd"), strict=True))
    numbers = [float(rows[name].replace("−", "-")) for name in ("of the parser’s choice", "of the most probable tree")]
    assert numbers == pytest.approx([analysis.log_prob, best.log_prob], abs=1e-3)
    assert read_percentage(rows["That this tree is correct (calibrated)"]) == pytest.approx(
        100 * analysis.calibrated, rel=0.01
    )
    assert read_percentage(rows["Of this tree in the model"]) == pytest.approx(
        100 * math.exp(analysis.log_prob), rel=0.01
    )
    assert ("Exact search" in session.page.inner_text("#remarks")) == analysis.alternatives_exact
    assert ("expected F1" in session.page.inner_text("#remarks")) == (best.tree != analysis.tree)
    hidden = "(all) => all.filter(({scrollWidth, clientWidth}) => scrollWidth > clientWidth).length"
    assert session.page.eval_on_selector_all("#tree-list .differences", hidden) == 0


def drag(session: PageSession, start: int, end: int) -> None:
    """Select words[start:end] with the mouse."""
    words = session.page.locator("#words > *")
    words.nth(start).hover()
    session.page.mouse.down()
    words.nth(end - 1).hover()
    session.page.mouse.up()


def test_constraints_change_the_tree_and_can_be_removed(
    open_session: OpenSession, parser: Parser, analysis: Analysis
) -> None:
    start, end = next(
        (i, j) for i in range(7) for j in range(i + 2, 8) if not any(s[:2] == (i, j) for s in analysis.tree.spans())
    )
    session = open_session().open(text=TEXT)
    drag(session, start, end)
    assert session.texts("#words > [aria-selected=true]") == FIRST[start:end]
    session.page.select_option("#label", "NP")
    session.page.click("#require")
    chip = session.page.locator("#constraints li")
    expect(chip).to_contain_text(f"{' '.join(FIRST[start:end])} must be NP")
    required = parser.parse(FIRST, constraints=Constraints(require=[(start, end, "NP")]))
    assert session.wait().copy("brackets") == str(required) != str(analysis.tree)
    drag(session, start, end)
    session.page.select_option("#label", "")
    session.page.click("#forbid")
    expect(chip).to_contain_text("must not be a constituent")
    forbidden = parser.parse(FIRST, constraints=Constraints(forbid=[(start, end)]))
    assert session.wait().copy("brackets") == str(forbidden)
    chip.locator("button").click()
    expect(chip).to_have_count(0)
    assert session.wait().copy("brackets") == str(analysis.tree)


def test_the_keyboard_is_enough_to_add_constraints(open_session: OpenSession, parser: Parser) -> None:
    session = open_session().open(text=TEXT)
    session.page.locator("#words > *").first.focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Tab", "Enter"):
        session.page.keyboard.press(key)
    expect(session.page.locator("#constraints li")).to_contain_text("old cat sees must be a constituent")
    assert session.page.evaluate("document.activeElement.role") == "option"
    required = parser.parse(FIRST, constraints=Constraints(require=[(1, 4)]))
    assert session.wait().copy("brackets") == str(required)


def test_impossible_constraints_show_an_error_and_can_be_removed(open_session: OpenSession, analysis: Analysis) -> None:
    session = open_session().open(text=TEXT, must="1:0-3")
    drag(session, 1, 5)
    session.page.click("#require")
    expect(session.page.locator("#message")).to_have_text(
        "Require a constituent over “The old cat” and a constituent over “old cat sees a”: "
        "these cross, and no tree has both"
    )
    assert session.page.locator("#analysis").get_attribute("inert") is not None
    for _ in range(2):
        session.page.locator("#constraints button").first.click()
    expect(session.page.locator("#message")).to_be_hidden()
    assert session.wait().copy("brackets") == str(analysis.tree)
    assert session.messages.pop().startswith("Failed to load resource")  # the browser logs every status 422


def test_the_heat_map_shows_every_span(open_session: OpenSession, parser: Parser, analysis: Analysis) -> None:
    session = open_session().open(text=TEXT, view="heat")
    marginals = parser.crf(FIRST).marginals[0]
    in_tree = {(each.start, each.end): each.calibrated for each in reversed(analysis.constituents)}
    cells = session.page.locator("#view .cell")
    assert cells.count() == 7 * 8 // 2
    number = 0
    for start in range(7):
        for end in range(start + 1, 8):
            probability = in_tree.get((start, end), float(marginals[start, end]))
            if cells.nth(number).locator("circle").count():
                assert probability < 0.01
            else:
                fill = cells.nth(number).locator("rect").get_attribute("fill")
                expected = THEMES["light"].fill(probability)  # the same scale as in the tree
                assert [int(fill[at : at + 2], 16) for at in (1, 3, 5)] == pytest.approx(expected, abs=1)
            number += 1
    cells.nth(2).click()
    expect(session.page.locator("#tooltip")).to_contain_text("The old cat")
    assert session.texts("#words > [aria-selected=true]") == FIRST[:3]


def test_the_outline_shows_the_tree_as_text(open_session: OpenSession, analysis: Analysis) -> None:
    session = open_session().open(text=TEXT)
    session.page.click("#tab-tree")
    session.page.keyboard.press("ArrowLeft")
    assert session.texts("#view li > .name") == [c.label for c in analysis.constituents]
    assert session.texts("#view .brackets") == [str(analysis.tree)]


def test_buttons_go_through_the_sentences_of_a_text(open_session: OpenSession, parser: Parser) -> None:
    session = open_session().open(text=TEXT)
    session.page.click("#next-sentence")
    expect(session.page.locator("#words > *")).to_have_text(SECOND)
    assert session.wait().copy("brackets") == str(parser.parse(SECOND))
    session.page.select_option("#sentence", "0")
    expect(session.page.locator("#words > *")).to_have_text(FIRST)


def test_constraints_stay_with_their_sentence_when_the_text_changes(open_session: OpenSession) -> None:
    session = open_session().open(text=TEXT, sentence="2", must="2:0-2")
    session.page.click("#edit")
    session.page.fill("#text", "Boris sang. The cat slept. She slept!")
    expect(session.page.locator("#count")).to_have_text("Sentence 2 of 3")
    session.wait().page.click("#next-sentence")
    expect(session.page.locator("#constraints li")).to_contain_text("She slept must be")
    session.page.fill("#text", "She sang!")
    expect(session.page.locator("#message")).to_contain_text("Some constraints were removed")


def test_the_menu_chooses_the_model(open_session: OpenSession, other: Path) -> None:
    session = open_session().open(text=TEXT, model="small")
    assert session.texts("#model option") == ["small: English, LSTM", "other: English, LSTM"]
    session.page.select_option("#model", "other")
    session.wait()
    assert session.copy("brackets") == str(Parser.load(other, "cpu").parse(FIRST))
    session.open(text=TEXT, model="gone")
    expect(session.page.locator("#message")).to_have_text(
        "This server has no model gone; the page shows the trees of small."
    )


def test_exports_equal_those_of_treecrf_draw(open_session: OpenSession, analysis: Analysis) -> None:
    session = open_session().open(text=TEXT)
    probabilities = [round(c.calibrated, 6) for c in analysis.constituents]
    assert session.copy("latex") == drawing.latex(analysis.tree, probabilities)
    names = "{http://www.w3.org/2000/svg}"
    page_svg, draw_svg = (
        ElementTree.fromstring(session.copy("svg")),
        ElementTree.fromstring(drawing.svg(analysis.tree, probabilities)),
    )
    assert sorted(t.text for t in page_svg.iter(f"{names}text")) == sorted(
        t.text for t in draw_svg.iter(f"{names}text")
    )
    assert page_svg.find(f"{names}desc").text == draw_svg.find(f"{names}desc").text
    names_of_attributes = {name for element in page_svg.iter() for name in element.attrib}
    assert not [name for name in names_of_attributes if name.startswith(("on", "data-", "tabindex", "style", "class"))]
    assert session.copy("link") == session.page.url


def test_files_are_named_after_the_sentence(open_session: OpenSession, parser: Parser) -> None:
    session = open_session().open(text=TEXT, tree="2")
    session.page.locator("#view g.label").nth(1).click()
    session.page.click("[data-copy=png]")
    expect(session.page.locator("#status")).to_have_text("PNG copied.")
    kinds = session.page.evaluate("navigator.clipboard.read().then(([item]) => item.types)")
    assert kinds == ["image/png"]
    contents = {}
    for kind, prefix in (("png", b"\x89PNG\r\n"), ("svg", b"<svg "), ("pdf", b"%PDF-1.4"), ("json", b"{")):
        with session.page.expect_download() as download:
            session.page.click(f"[data-save={kind}]")
        assert download.value.suggested_filename == f"the-old-cat-sees-a-garden-tree-2.{kind}"
        contents[kind] = Path(download.value.path()).read_bytes()
        assert contents[kind].startswith(prefix) and len(contents[kind]) > 1000
    picture = ElementTree.fromstring(contents["svg"])
    assert not [box for box in picture.iter("{http://www.w3.org/2000/svg}rect") if "stroke" in box.attrib]
    answer = json.loads(contents["json"])
    assert answer["model"] == "small" and answer["tree"] == str(parser.parse(FIRST)) and len(answer["kbest"]) == 10
    pdf = pytest.importorskip("pypdf", reason="pypdf is not installed").PdfReader(io.BytesIO(contents["pdf"])).pages[0]
    assert set(FIRST) <= set(pdf.extract_text().split())


def test_without_clipboard_access_copies_are_saved(open_session: OpenSession, analysis: Analysis) -> None:
    session = open_session()
    session.page.add_init_script("delete Navigator.prototype.clipboard")  # as on pages without TLS
    session.open(text=TEXT)
    with session.page.expect_download() as download:
        session.page.click("[data-copy=brackets]")
    assert Path(download.value.path()).read_text() == str(analysis.tree)


def test_a_link_restores_the_view(open_session: OpenSession) -> None:
    session = open_session().open(text=TEXT, model="other")
    session.page.click("#next-sentence")
    session.wait()
    drag(session, 0, 2)
    session.page.click("#forbid")
    expect(session.page.locator("#constraints li")).to_have_count(1)
    session.wait().page.click("#next-tree")
    session.page.click("#tab-outline")
    session.page.check("#hide-root")
    session.page.select_option("#compare", "tree:0")
    session.page.select_option("#layout", "down")
    link, outline = session.copy("link"), session.texts("#view")
    second = open_session()
    second.page.goto(link)
    assert second.wait().texts("#view") == outline
    for part in ("#count", "#tree-number", "#constraints", "#words", "#other-view", "#other-comparison"):
        assert second.texts(part) == session.texts(part)
    assert second.page.input_value("#model") == "other" and second.page.input_value("#text") == TEXT
    second.page.reload()
    assert second.wait().texts("#view") == outline


def test_markup_in_the_input_stays_text(open_session: OpenSession) -> None:
    session = open_session().open(text=MARKUP, must="1:0-2:<b>", model="<i>")
    session.page.locator("#constraints button").click()
    expect(session.page.locator("#view > *")).to_be_visible()
    session.wait()
    for view in VIEWS:
        session.page.click(f"#tab-{view}")
        assert session.page.locator(":is(main, #tooltip) :is(img, script, i, b b), #words *:has(*)").count() == 0
        assert "<script" in "".join(session.texts("#words > *")) and "&amp;" in "".join(session.texts("#words > *"))
    svg = ElementTree.fromstring(session.copy("svg"))
    assert {element.tag.split("}")[1] for element in svg.iter()} <= {
        "svg",
        "title",
        "desc",
        "rect",
        "g",
        "path",
        "text",
    }
    assert session.page.evaluate("typeof hit") == "undefined"
    session.messages = [line for line in session.messages if not line.startswith("Failed to load resource")]


def test_markup_in_names_of_models_and_files_stays_text(model: Path, tmp_path: Path, open_session: OpenSession) -> None:
    name = "<img src=x onerror=hit=1><b>"
    shutil.copytree(model, tmp_path / name)
    path = tmp_path / "<i><script>hit=1<.txt"
    path.write_text("We sing. She slept.\n")
    with start_server(tmp_path / name) as server:
        session = open_session(server.url).open()
        assert session.texts("#model option") == [name] or name in session.page.inner_text("body")
        session.page.set_input_files("#file", path)
        expect(session.page.locator("#count")).to_contain_text("<i><script>hit=1<.txt")
        session.wait()
        assert session.page.locator("img[src=x], script:not([src]), main :is(i, b b)").count() == 0
        assert session.page.evaluate("typeof hit") == "undefined"
        assert name not in httpx.get(f"{server.url}/docs").text


def test_the_content_security_policy_is_strict(page_server: ServerProcess) -> None:
    response = httpx.get(page_server.url)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert " style=" not in response.text and "<style" not in response.text and "<script>" not in response.text


def test_themes_follow_the_system_and_then_the_button(open_session: OpenSession) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    session = open_session(color_scheme="dark").open(text=TEXT)
    dark = session.page.evaluate(background)
    session.page.click("#theme")
    light = session.page.evaluate(background)
    assert dark == "rgb(16, 18, 22)" and light == "rgb(247, 246, 243)"
    session.page.reload()
    assert session.wait().page.evaluate(background) == light
    expect(session.page.locator("#theme")).to_have_attribute("aria-pressed", "false")


def test_a_phone_needs_no_horizontal_scrolling(open_session: OpenSession) -> None:
    session = open_session(**PHONE).open(text=TEXT)
    words = session.page.locator("#words > *")
    words.nth(1).tap()
    words.nth(3).tap()
    assert session.texts("#words > [aria-selected=true]") == FIRST[1:4]
    for view in VIEWS:
        session.page.locator(f"#tab-{view}").tap()
        assert session.page.evaluate("document.documentElement.scrollWidth") <= 360
    session.page.locator("#require").tap()
    expect(session.page.locator("#constraints li")).to_contain_text("old cat sees")
    session.wait()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_long_sentences_are_drawn_sideways_and_readable(open_session: OpenSession, size: dict[str, Any]) -> None:
    session = open_session(**size).open(text=LONG)
    view = session.page.locator("#view")
    picture = view.locator("svg")
    expect(picture).to_have_attribute("aria-orientation", "horizontal")
    assert view.evaluate(OVERLAPS) == 0
    assert 14 * picture.evaluate(SCALE) > 9  # the size of words in pixels
    picture.locator("g.label").first.focus()
    session.page.keyboard.press("ArrowRight")
    assert session.page.evaluate("document.activeElement.ariaLevel") == "2"
    session.page.keyboard.press("s")
    expect(picture).to_have_attribute("aria-orientation", "vertical")
    assert view.evaluate(OVERLAPS) == 0
    session.page.check("#hide-tags")
    assert view.evaluate(OVERLAPS) == 0


def test_long_sentences_scroll_and_zoom(open_session: OpenSession) -> None:
    session = open_session().open(text=LONG, layout="down")
    sizes = "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.getElementById('view'))"
    picture_width, view_width = session.page.evaluate(sizes)
    assert picture_width > view_width
    session.page.click("#zoom-in")
    assert session.page.evaluate(sizes)[0] > picture_width
    session.page.click("#zoom-fit")
    assert session.page.evaluate(sizes)[0] <= view_width
    session.page.locator("#view").hover()
    session.page.keyboard.down("Control")
    session.page.mouse.wheel(0, -600)
    session.page.wait_for_function(f"{sizes}[0] > {view_width}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_accessibility_problems(open_session: OpenSession, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed").AXE_FILE_PATH.read_text()
    session = open_session(color_scheme=theme, reduced_motion="reduce").open(text=TEXT, must="1:0-3:NP")
    session.page.locator("#words > *").nth(4).focus()
    session.page.keyboard.press("Space")
    session.page.click("#next-tree")
    session.page.evaluate(axe)

    def check() -> None:
        report = session.page.evaluate("axe.run()")
        assert len(report["passes"]) > 20
        assert [one for one in report["violations"] if one["impact"] in ("serious", "critical")] == []

    for size in (DESKTOP, PHONE):
        session.page.set_viewport_size(size["viewport"])
        for view in VIEWS:
            session.page.click(f"#tab-{view}")
            check()
    session.page.click("#tab-tree")
    session.page.select_option("#compare", "tree:0")
    session.page.locator("#view g.label").nth(1).dblclick()
    expect(session.page.locator("#view g.triangle")).to_have_count(1)
    check()
    session.page.click("#show-shortcuts")
    check()
    session.page.goto(f"{session.url}/docs")
    session.page.evaluate(axe)
    session.page.locator("#route-parse button").click()
    session.page.locator("pre").get_by_text("200").wait_for()
    check()


def test_constituents_collapse_to_triangles(open_session: OpenSession, analysis: Analysis) -> None:
    number, constituent = next(
        (i, c) for i, c in enumerate(analysis.constituents) if 2 <= c.end - c.start < 7 and c.label != "TOP"
    )
    words = " ".join(FIRST[constituent.start : constituent.end])
    session = open_session().open(text=TEXT, layout="down")
    label = session.page.locator("#view g.label").nth(number)
    triangle = session.page.locator("#view g.triangle")
    label.dblclick()
    expect(triangle).to_have_text([words])
    expect(label).to_have_attribute("aria-expanded", "false")
    assert words not in " ".join(leaves(session))
    assert f"[{{{words}}}, roof]" in session.copy("latex") and session.copy("brackets") == str(analysis.tree)
    session.page.reload()
    expect(session.wait().page.locator("#view g.triangle")).to_have_text([words])
    label.focus()
    session.page.keyboard.press("c")
    expect(triangle).to_have_count(0)
    assert session.page.evaluate("document.activeElement.ariaExpanded") == "true"
    session.page.keyboard.press("Enter")
    session.page.click("#collapse")
    expect(triangle).to_have_count(1)
    session.page.click("#expand")
    expect(triangle).to_have_count(0)


def leaves(session: PageSession) -> list[str]:
    return list(session.page.locator("#view g.leaf").all_text_contents())


def test_root_tags_and_punctuation_can_be_hidden(open_session: OpenSession, analysis: Analysis) -> None:
    session = open_session().open(text=TEXT)
    tags = analysis.tree.tags
    assert leaves(session) == [tag + word for tag, word in zip(tags, FIRST, strict=True)]
    assert session.attributes("#view g.label", "data-label")[0] == "TOP"
    session.page.check("#hide-root")
    session.page.check("#hide-tags")
    assert leaves(session) == FIRST
    is_removable = len(analysis.tree.children) == 1
    assert session.attributes("#view g.label", "data-label")[0] == analysis.constituents[int(is_removable)].label
    assert f">{tags[0]}<" not in session.copy("svg") and session.copy("brackets") == str(analysis.tree)
    session.open(text=TEXT, model="other", hide="punctuation")  # this model has no tags
    assert leaves(session) == FIRST[:-1]


def test_trees_and_models_are_compared_side_by_side(open_session: OpenSession, analysis: Analysis, other: Path) -> None:
    session = open_session().open(text=TEXT, layout="down")
    second = next(one for one in analysis.alternatives if one.tree != analysis.tree)
    for value, compared in (("tree:1", second.tree), ("model:other", Parser.load(other, "cpu").parse(FIRST))):
        session.page.select_option("#compare", value)
        session.wait()
        for pane, comparison, tree, opposite in (
            ("#view", "#comparison", analysis.tree, compared),
            ("#other-view", "#other-comparison", compared, analysis.tree),
        ):
            added = Counter(map(tuple, tree.spans())) - Counter(map(tuple, opposite.spans()))
            frames = session.page.locator(f"{pane} g.label:has(rect[stroke])")
            expect(frames).to_have_count(added.total())
            description = session.page.inner_text(comparison)
            for start, end, label in added:
                assert f"{label} “{' '.join(FIRST[start:end])}”" in description
        scales = [session.page.locator(f"{pane} > svg").evaluate(SCALE) for pane in ("#view", "#other-view")]
        assert scales[0] == pytest.approx(scales[1], abs=0.01)
    session.page.select_option("#compare", "")
    expect(session.page.locator("#other")).to_be_hidden()


def test_a_text_file_is_opened_dropped_or_pasted(open_session: OpenSession, tmp_path: Path) -> None:
    path = tmp_path / "cats.txt"
    path.write_text("\n\n".join(f"The cat sees\nwall {number}." for number in range(1500)))
    session = open_session().open(text=TEXT)
    session.page.set_input_files("#file", path)
    expect(session.page.locator("#count")).to_have_text("cats.txt: sentence 1 of 1500")
    assert session.wait().texts("#words > *") == ["The", "cat", "sees", "wall", "0", "."]
    assert len(session.page.url) < 1000
    session.page.locator("#view").focus()
    session.page.keyboard.press("n")
    expect(session.page.locator("#words > *").nth(4)).to_have_text("1")
    events = """([kind, field, text]) => {
      const transfer = new DataTransfer();
      if (kind === "drop") transfer.items.add(new File([text], "notes.txt"));
      else transfer.setData("text/plain", text);
      const event = new Event(kind, { bubbles: true, cancelable: true });
      event[field] = transfer;
      document.body.dispatchEvent(event);
    }"""
    for kind, field, text, count in (
        ("drop", "dataTransfer", "She slept! He sang. We sing.", "notes.txt: sentence 1 of 3"),
        ("paste", "clipboardData", TEXT, "Sentence 1 of 2"),
    ):
        session.wait().page.evaluate(events, [kind, field, text])
        expect(session.page.locator("#count")).to_have_text(count)
    session.wait().page.set_input_files("#file", {"name": "a.bin", "mimeType": "", "buffer": b"\xff\x00"})
    expect(session.page.locator("#message")).to_contain_text("a.bin is not a text file in UTF-8")


def open_text(session: PageSession, name: str, content: bytes) -> PageSession:
    session.page.set_input_files("#file", {"name": name, "mimeType": "", "buffer": content})
    expect(session.page.locator("#count")).to_contain_text(f"{name}: sentence 1 of 2")
    return session.wait()


GOLD = [
    "(TOP (S (NP-SBJ-1 (DT the) (NN cat)) (VP (VBZ sees) (NP (-NONE- *-1)))))",
    "( (NP (NN wall)\n     (-LRB- -LRB-)))",
]


def test_files_of_trees_are_opened_beside_the_parser_s_trees(open_session: OpenSession, parser: Parser) -> None:
    session = open_session().open()
    analyses = [parser.analyze(Tree.parse(tree).words) for tree in GOLD]
    lines = [Formatter(format="json", probs=True).line([ParsedSentence(a.tree, [(0, 1)] * 3, a)]) for a in analyses]
    for name, content in (
        ("gold.mrg", "\n".join(["<S ID=1>", *GOLD]).encode()),
        ("gold.mrg.gz", gzip.compress("\n".join(GOLD).encode())),
        ("trees.jsonl", "\n".join(lines).encode()),
    ):
        open_text(session, name, content)
        trees = [str(a.tree) for a in analyses] if "jsonl" in name else [" ".join(tree.split()) for tree in GOLD]
        assert session.copy("brackets") == trees[0]
        assert session.texts("#words > *") == ["the", "cat", "sees"]
        assert session.texts("#tree-list .differences")[0].startswith("The tree of the file")
        session.page.click("#next-tree")
        assert session.copy("brackets") == str(analyses[0].tree)
        session.page.click("#next-sentence")
        assert session.wait().copy("brackets") == trees[1]
    open_text(session, "gold.mrg", "\n".join(GOLD).encode())
    assert session.attributes("#view g.label", "data-label") == ["TOP", "S", "NP-SBJ-1", "VP"]
    session.page.locator("#view g.label").nth(2).hover()
    expect(session.page.locator("#tooltip")).to_contain_text("NP-SBJ-1: noun phrase")
    session.page.locator("#view g.leaf").first.hover()
    expect(session.page.locator("#tooltip")).to_contain_text("DT: determiner")
    second = open_session().open(text=GOLD[0] + GOLD[1])
    assert second.copy("brackets") == GOLD[0]
    second.open(text="(S (NP (NN cat)) (and")
    expect(second.page.locator("#warnings")).to_contain_text(
        "is read as text, because the tree in line 1 is not closed"
    )


def test_the_whole_document_is_searched_and_matches_are_marked(open_session: OpenSession, parser: Parser) -> None:
    session = open_session().open(text=TEXT)
    trees = list(parser.parse_many([FIRST, SECOND]))
    label = trees[1].spans()[1].label
    expected = [(i, span) for i, tree in enumerate(trees) for span in tree.spans() if span.label == label]
    session.page.keyboard.press("/")
    session.page.keyboard.type(label)
    session.page.keyboard.press("Enter")
    matches = session.page.locator("#matches button")
    expect(matches).to_have_count(len(expected))
    expect(session.page.locator("#found")).to_contain_text(f"{len(expected)} match")
    matches.last.click()
    expect(session.page.locator("#count")).to_have_text("Sentence 2 of 2")
    words = SECOND[expected[-1][1].start : expected[-1][1].end]
    expect(session.page.locator("#words > [aria-selected=true]")).to_have_text(words)
    in_second = sum(i == 1 for i, _ in expected)
    expect(session.wait().page.locator("#view .matched")).to_have_count(in_second)
    session.page.fill("#pattern", "NP < (")
    session.page.click("#search button")
    expect(session.page.locator("#found")).to_contain_text("Pattern: ")
    assert session.messages.pop().startswith("Failed to load resource")


def test_the_whole_document_is_exported(open_session: OpenSession, parser: Parser) -> None:
    session = open_session().open(text=TEXT, must="1:0-3:NP")
    constraints = [Constraints(require=[(0, 3, "NP")]), None]
    trees = list(parser.parse_many([FIRST, SECOND], constraints=constraints))
    contents = {}
    for button, suffix in zip(session.page.locator("[data-save-all]").all(), SUFFIXES, strict=True):
        with session.page.expect_download() as download:
            button.click()
        assert download.value.suggested_filename == f"the-old-cat-sees-a-garden.{suffix}"
        contents[suffix] = Path(download.value.path()).read_bytes()
    assert contents["mrg"].decode() == "".join(f"{tree}\n" for tree in trees)
    assert [json.loads(line)["tree"] for line in contents["jsonl"].splitlines()] == list(map(str, trees))
    rows = list(csv.DictReader(io.StringIO(contents["csv"].decode())))
    spans = [(i, *map(str, span)) for i, tree in enumerate(trees, 1) for span in tree.spans()]
    assert [(int(row["sentence"]), row["start"], row["end"], row["label"]) for row in rows] == spans
    assert rows[0]["text"] == " ".join(FIRST) and 0 < float(rows[0]["calibrated"]) <= 1
    conllu = [to_dependencies(tree).conllu(sentence_id=str(i)) for i, tree in enumerate(trees, 1)]
    assert contents["conllu"].decode() == "".join(conllu)
    pages = pytest.importorskip("pypdf", reason="pypdf is not installed").PdfReader(io.BytesIO(contents["pdf"])).pages
    assert [set(words) <= set(page.extract_text().split()) for page, words in zip(pages, (FIRST, SECOND), strict=True)]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_text_is_shown_once_and_the_tree_begins_in_the_upper_third(
    open_session: OpenSession, size: dict[str, Any]
) -> None:
    session = open_session(**size).open(text=f"{LONG} {LONG}")
    page = session.page
    for _ in range(2):
        assert page.locator("#text").is_visible() != page.locator("#words").is_visible()
        assert page.locator("#view svg").bounding_box()["y"] < size["viewport"]["height"] / 3
        page.evaluate("scrollTo(0, 600)")
        expect(page.locator("#sentence")).to_be_in_viewport()  # the sentence picker stays in view
        page.evaluate("scrollTo(0, 0)")
        page.keyboard.press("e")
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.press("Escape")
    expect(page.locator("#words")).to_be_visible()


def test_a_tree_has_one_probability_and_its_other_numbers_are_on_demand(open_session: OpenSession) -> None:
    session = open_session().open(text=TEXT)
    number = session.page.inner_text("#tree-number").split(": ")[1]
    assert session.texts("#tree-list .probability")[0] == number
    assert f"({number})" in session.texts("#compare option")[-10] and number.endswith(" %")
    session.page.locator("#view g.label").first.hover()
    texts = [*session.page.locator("#view text").all_text_contents(), session.page.inner_text("#tooltip"), number]
    assert not re.search(r"\.\d\d\b|\d in \d", " ".join(texts))  # percentages only
    expect(session.page.locator("#numbers")).to_be_hidden()
    session.page.click("#trees summary")
    expect(session.page.locator("#numbers")).to_contain_text("Of this tree in the model")
    session.page.click("#tab-heat")
    numbers = [text for text in session.page.locator("#view .cell text").all_text_contents() if text.endswith("%")]
    assert len(numbers) == session.page.locator("#view .cell:not(:has(circle))").count() > 7


def test_the_api_page_sends_requests(open_session: OpenSession, parser: Parser) -> None:
    session = open_session()
    session.page.goto(f"{session.url}/docs")
    section = session.page.locator("#route-parse")
    section.locator("textarea").fill('{"tokens": ["We", "sing"], "format": "brackets"}')
    section.locator("button").click()
    expect(section.locator("pre")).to_contain_text(str(parser.parse(["We", "sing"])))
    expect(section.locator("pre")).to_contain_text(f"$ curl {session.url}/parse -H")


def test_shortcuts_are_listed_and_can_be_switched_off(open_session: OpenSession) -> None:
    session = open_session().open(text=TEXT)
    session.page.locator("#view").focus()
    session.page.keyboard.press("j")
    expect(session.page.locator("#tree-number")).to_contain_text("Tree 2 of")
    session.page.keyboard.press("h")
    expect(session.page.locator("#view .cell").first).to_be_visible()
    session.page.keyboard.press("?")
    dialog = session.page.locator("#shortcuts")
    expect(dialog).to_contain_text("next or previous sentence")
    session.page.uncheck("#shortcuts-on")
    session.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    session.page.keyboard.press("t")
    session.page.click("#edit")
    session.page.locator("#text").press_sequentially("?")
    expect(session.page.locator("#view .cell").first).to_be_visible()
    expect(dialog).to_be_hidden()


def test_a_text_in_another_language_shows_a_warning(open_session: OpenSession) -> None:
    session = open_session().open(text="图书馆在哪里？")
    expect(session.page.locator("#warnings")).to_have_text(
        "The text looks Chinese, and the model small reads English; no model of this server reads it."
    )
    session.page.click("#edit")
    session.page.fill("#text", TEXT)
    expect(session.page.locator("#warnings")).to_be_hidden()
    session.wait()


def test_the_page_works_with_a_token_and_small_limits(open_session: OpenSession, model: Path) -> None:
    with start_server(model, "--max-k", "0", "--max-marginal-words", "3", token="s3cret") as server:
        session = open_session(server.url, http_credentials={"username": "any", "password": "s3cret"})
        session.open(text=TEXT, view="heat")
        expect(session.page.locator("#view")).to_have_text("This server shows heat maps of at most 3 words.")
        expect(session.page.locator("#tree-number")).to_contain_text("Tree 1 of 1")
        assert server.stop() == 0
        session.page.click("#edit")
        session.page.click("#parse")
        expect(session.page.locator("#message")).to_have_text("The server does not answer. Is it still running?")
        assert session.messages.pop().startswith("Failed to load resource")
