"""The page in a real browser, asking a real server."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from browsed import Visit, browsing, playwright
from served import Served, serving
from small import random_parser
from toygrammar import toy_trees
from treecrf import viz
from treecrf.decoding.analysis import Analysis
from treecrf.decoding.constraints import Constraints
from treecrf.parser import Parser
from treecrf.viz.colors import THEMES

expect = playwright.expect
TEXT = "The old cat sees a garden. She slept!"
FIRST, SECOND = ["The", "old", "cat", "sees", "a", "garden", "."], ["She", "slept", "!"]
VIEWS = ("tree", "heat", "outline")
DESK = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
HOSTILE = '<img src=x onerror=hit=1> </svg><script>hit=1</script> "&amp; <b>bold</b> {{1}} \\x -- 5%'
Opener = Callable[..., Visit]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second model, which knows no tags."""
    folder = tmp_path_factory.mktemp("models") / "other"
    random_parser(toy_trees(20, seed=9)).save(folder)
    return folder


@pytest.fixture(scope="module")
def served(model: Path, other: Path) -> Iterator[Served]:
    with serving(model, "--model", str(model), str(other)) as server:
        yield server
        assert server.end() == 0
        assert "Traceback" not in "".join(server.log)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as browser:
        yield browser


@pytest.fixture
def visit(browser: Any, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens pages, of the server of this module if no other is given."""
    visits: list[Visit] = []

    def make(url: str | None = None, **options: Any) -> Visit:
        visits.append(Visit(browser, url or request.getfixturevalue("served").url, **options))
        return visits[-1]

    yield make
    for each in visits:
        each.end()


@pytest.fixture(scope="module")
def analysis(parser: Parser) -> Analysis:
    return parser.analyze(FIRST, k=10)


def percent(text: str) -> float:
    """The percentage that ends a text, or the one in so many."""
    if " in " in text:
        return 100 / float(text.split(" in ")[1].replace(",", ""))
    return float(text.removesuffix(" %").split()[-1])


def test_typed_text_becomes_its_tree(visit: Opener, parser: Parser) -> None:
    seen = visit().open()
    seen.page.fill("#text", "")
    seen.page.locator("#text").press_sequentially("she sees a wall .")
    expect(seen.page.locator("#view svg")).to_have_attribute("aria-label", "Tree of: she sees a wall .")
    seen.settled()
    assert seen.texts("#words > *") == ["she", "sees", "a", "wall", "."]
    assert seen.copied("brackets") == str(parser.parse(["she", "sees", "a", "wall", "."]))


def test_pasted_text_is_parsed_by_the_button(visit: Opener, parser: Parser) -> None:
    seen = visit().open()
    seen.page.fill("#text", TEXT)
    seen.page.click("#form button")
    expect(seen.page.locator("#count")).to_have_text("Sentence 1 of 2")
    seen.settled()
    assert seen.copied("brackets") == str(parser.parse(FIRST))
    seen.page.fill("#text", " ")
    seen.page.click("#form button")
    expect(seen.page.locator("#result")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_constituents_have_the_colours_of_their_probabilities(visit: Opener, analysis: Analysis, theme: str) -> None:
    seen = visit(color_scheme=theme).open(text=TEXT)
    fills = seen.attributes("#view g.label > rect", "fill")
    assert len(fills) == len(analysis.constituents)
    for fill, constituent in zip(fills, analysis.constituents, strict=True):
        expected = THEMES[theme].fill(constituent.probability)
        assert [int(fill[at : at + 2], 16) for at in (1, 3, 5)] == pytest.approx(expected, abs=1)


def test_hovering_and_focusing_tell_a_probability(visit: Opener, analysis: Analysis) -> None:
    seen = visit().open(text=TEXT)
    tip = seen.page.locator("#tip")
    for number, constituent in enumerate(analysis.constituents):
        seen.page.locator("#view g.label").nth(number).hover()
        title, words = (tip.locator(part).inner_text() for part in ("strong", "span"))
        assert title.split()[0] == constituent.label
        assert words == " ".join(FIRST[constituent.start : constituent.end])
        assert percent(title) == pytest.approx(100 * constituent.probability, abs=0.6)
        assert seen.texts("#words > .hinted") == FIRST[constituent.start : constituent.end]
    seen.page.mouse.move(1, 1)
    expect(tip).to_be_hidden()
    seen.page.locator("#view [role=treeitem]").first.focus()
    expect(tip).to_be_visible()
    seen.page.keyboard.press("ArrowDown")
    focused = seen.page.evaluate("[document.activeElement.ariaLevel, document.activeElement.ariaLabel]")
    assert focused[0] == "2" and focused[1].startswith(f"{analysis.constituents[1].label}, probability")
    seen.page.keyboard.press("Enter")
    expect(seen.page.locator("#span")).to_be_visible()


def test_alternatives_are_flipped_through_by_buttons_and_arrow_keys(visit: Opener, analysis: Analysis) -> None:
    seen = visit().open(text=TEXT)
    rest = [other for other in analysis.alternatives if other.tree != analysis.tree]
    assert len(seen.texts("#ranks label")) == 1 + len(rest)
    for number, other in enumerate(rest[:3]):
        if number:
            seen.page.locator("#ranks input:checked").press("ArrowDown")
        else:
            seen.page.click("#next")
        expect(seen.page.locator("#which")).to_contain_text(f"Tree {number + 2} of {1 + len(rest)}:")
        assert percent(seen.page.inner_text("#which")) == pytest.approx(100 * math.exp(other.log_prob), abs=0.6)
        assert seen.copied("brackets") == str(other.tree)
        ratings = [percent(label) for label in seen.attributes("#view g.label", "aria-label")]
        expected = [100 * c.probability for c in other.constituents]
        assert ratings == pytest.approx(expected, abs=0.6)
    seen.page.click("#previous")
    assert seen.copied("brackets") == str(rest[1].tree)


def drag(seen: Visit, start: int, end: int) -> None:
    """Select words[start:end] with the mouse."""
    words = seen.page.locator("#words > *")
    words.nth(start).hover()
    seen.page.mouse.down()
    words.nth(end - 1).hover()
    seen.page.mouse.up()


def test_constraints_change_the_tree_at_once_and_go_again(visit: Opener, parser: Parser, analysis: Analysis) -> None:
    start, end = next(
        (i, j) for i in range(7) for j in range(i + 2, 8) if not any(s[:2] == (i, j) for s in analysis.tree.spans())
    )
    seen = visit().open(text=TEXT)
    drag(seen, start, end)
    assert seen.texts("#words > [aria-selected=true]") == FIRST[start:end]
    seen.page.select_option("#label", "NP")
    seen.page.click("#must")
    chip = seen.page.locator("#constraints li")
    expect(chip).to_contain_text(f"{' '.join(FIRST[start:end])} must be NP")
    required = parser.parse(FIRST, constraints=Constraints(require=[(start, end, "NP")]))
    assert seen.settled().copied("brackets") == str(required) != str(analysis.tree)
    drag(seen, start, end)
    seen.page.select_option("#label", "")
    seen.page.click("#never")
    expect(chip).to_contain_text("must not be a phrase")
    forbidden = parser.parse(FIRST, constraints=Constraints(forbid=[(start, end)]))
    assert seen.settled().copied("brackets") == str(forbidden)
    chip.locator("button").click()
    expect(chip).to_have_count(0)
    assert seen.settled().copied("brackets") == str(analysis.tree)


def test_constraints_are_set_by_keys_alone(visit: Opener, parser: Parser) -> None:
    seen = visit().open(text=TEXT)
    seen.page.locator("#words > *").first.focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Tab", "Enter"):
        seen.page.keyboard.press(key)
    expect(seen.page.locator("#constraints li")).to_contain_text("old cat sees must be a phrase")
    assert seen.page.evaluate("document.activeElement.role") == "option"
    required = parser.parse(FIRST, constraints=Constraints(require=[(1, 4)]))
    assert seen.settled().copied("brackets") == str(required)


def test_constraints_that_cannot_be_are_told_and_removable(visit: Opener, analysis: Analysis) -> None:
    seen = visit().open(text=TEXT, must="1:0-3")
    drag(seen, 1, 5)
    seen.page.click("#must")
    expect(seen.page.locator("#note")).to_contain_text("these cross, and no tree has both")
    assert seen.page.locator("#answer").get_attribute("inert") is not None
    for _ in range(2):
        seen.page.locator("#constraints button").first.click()
    expect(seen.page.locator("#note")).to_be_hidden()
    assert seen.settled().copied("brackets") == str(analysis.tree)
    assert seen.complaints.pop().startswith("Failed to load resource")  # as the browser says of every 422


def test_the_heat_map_shows_every_span(visit: Opener, parser: Parser) -> None:
    seen = visit().open(text=TEXT, view="heat")
    marginals = parser.crf(FIRST).marginals[0]
    cells = seen.page.locator("#view .cell")
    assert cells.count() == 7 * 8 // 2
    number = 0
    for start in range(7):
        for end in range(start + 1, 8):
            fill = cells.nth(number).locator("rect").get_attribute("fill")
            expected = THEMES["light"].fill(1 - float(marginals[start, end]))
            assert [int(fill[at : at + 2], 16) for at in (1, 3, 5)] == pytest.approx(expected, abs=1)
            number += 1
    cells.nth(2).click()
    expect(seen.page.locator("#tip")).to_contain_text("The old cat")
    assert seen.texts("#words > [aria-selected=true]") == FIRST[:3]


def test_the_outline_says_the_tree_in_text(visit: Opener, analysis: Analysis) -> None:
    seen = visit().open(text=TEXT)
    seen.page.click("#tab-tree")
    seen.page.keyboard.press("ArrowLeft")
    assert seen.texts("#view li > .name") == [c.label for c in analysis.constituents]
    assert seen.texts("#view .brackets") == [str(analysis.tree)]


def test_sentences_of_a_text_are_gone_through(visit: Opener, parser: Parser) -> None:
    seen = visit().open(text=TEXT)
    seen.page.click("#after")
    expect(seen.page.locator("#words > *")).to_have_text(SECOND)
    assert seen.settled().copied("brackets") == str(parser.parse(SECOND))
    seen.page.select_option("#sentence", "0")
    expect(seen.page.locator("#words > *")).to_have_text(FIRST)


def test_constraints_stay_with_their_sentence_while_others_change(visit: Opener) -> None:
    seen = visit().open(text=TEXT, sentence="2", must="2:0-2")
    seen.page.fill("#text", "Boris sang. The cat slept. She slept!")
    expect(seen.page.locator("#count")).to_have_text("Sentence 2 of 3")
    seen.settled().page.click("#after")
    expect(seen.page.locator("#constraints li")).to_contain_text("She slept must be")
    seen.page.fill("#text", "She sang!")
    expect(seen.page.locator("#note")).to_contain_text("Constraints are gone")


def test_models_are_chosen(visit: Opener, other: Path) -> None:
    seen = visit().open(text=TEXT, model="small")
    assert seen.texts("#model option") == ["small (en)", "other (en)"]
    seen.page.select_option("#model", "other")
    seen.settled()
    assert seen.copied("brackets") == str(Parser.load(other, "cpu").parse(FIRST))
    seen.open(text=TEXT, model="gone")
    expect(seen.page.locator("#note")).to_have_text("This server has no model gone; here is what small says.")


def test_exports_are_those_of_treecrf_draw(visit: Opener, analysis: Analysis) -> None:
    seen = visit().open(text=TEXT)
    probabilities = [round(c.probability, 6) for c in analysis.constituents]
    assert seen.copied("latex") == viz.latex(analysis.tree, probabilities)
    names = "{http://www.w3.org/2000/svg}"
    ours, theirs = (
        ElementTree.fromstring(seen.copied("svg")),
        ElementTree.fromstring(viz.svg(analysis.tree, probabilities)),
    )
    assert sorted(t.text for t in ours.iter(f"{names}text")) == sorted(t.text for t in theirs.iter(f"{names}text"))
    assert ours.find(f"{names}desc").text == theirs.find(f"{names}desc").text
    kinds = {name for element in ours.iter() for name in element.attrib}
    assert not [name for name in kinds if name.startswith(("on", "data-", "tabindex", "style", "class"))]
    assert seen.copied("link") == seen.page.url


def test_pictures_are_copied_and_saved(visit: Opener) -> None:
    seen = visit().open(text=TEXT)
    seen.page.click("[data-copy=png]")
    expect(seen.page.locator("#status")).to_have_text("PNG copied.")
    kinds = seen.page.evaluate("navigator.clipboard.read().then(([item]) => item.types)")
    assert kinds == ["image/png"]
    for kind, beginning in (("png", b"\x89PNG\r\n"), ("svg", b"<svg ")):
        with seen.page.expect_download() as download:
            seen.page.click(f"[data-save={kind}]")
        assert download.value.suggested_filename == f"tree.{kind}"
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(beginning) and len(content) > 1000


def test_what_cannot_be_copied_is_saved(visit: Opener, analysis: Analysis) -> None:
    seen = visit()
    seen.page.add_init_script("delete Navigator.prototype.clipboard")  # as on addresses that are not secure
    seen.open(text=TEXT)
    with seen.page.expect_download() as download:
        seen.page.click("[data-copy=brackets]")
    assert Path(download.value.path()).read_text() == str(analysis.tree)


def test_a_link_reproduces_the_view(visit: Opener) -> None:
    seen = visit().open(text=TEXT, model="other")
    seen.page.click("#after")
    seen.settled()
    drag(seen, 0, 2)
    seen.page.click("#never")
    expect(seen.page.locator("#constraints li")).to_have_count(1)
    seen.settled().page.click("#next")
    seen.page.click("#tab-outline")
    link, outline = seen.copied("link"), seen.texts("#view")
    again = visit()
    again.page.goto(link)
    assert again.settled().texts("#view") == outline
    for part in ("#count", "#which", "#constraints", "#words"):
        assert again.texts(part) == seen.texts(part)
    assert again.page.input_value("#model") == "other" and again.page.input_value("#text") == TEXT
    again.page.reload()
    assert again.settled().texts("#view") == outline


def test_what_looks_like_html_stays_text(visit: Opener) -> None:
    seen = visit().open(text=HOSTILE, must="1:0-2:<b>", model="<i>")
    seen.page.locator("#constraints button").click()
    expect(seen.page.locator("#view > *")).to_be_visible()
    seen.settled()
    for view in VIEWS:
        seen.page.click(f"#tab-{view}")
        assert seen.page.locator(":is(main, #tip) :is(img, script, i, b b), #words *:has(*)").count() == 0
        assert "<script" in "".join(seen.texts("#words > *")) and "&amp;" in "".join(seen.texts("#words > *"))
    svg = ElementTree.fromstring(seen.copied("svg"))
    assert {element.tag.split("}")[1] for element in svg.iter()} <= {
        "svg",
        "title",
        "desc",
        "rect",
        "g",
        "line",
        "text",
    }
    assert seen.page.evaluate("typeof hit") == "undefined"
    seen.complaints = [line for line in seen.complaints if not line.startswith("Failed to load resource")]


def test_the_policy_of_the_page_is_strict(served: Served) -> None:
    answer = httpx.get(served.url)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert " style=" not in answer.text and "<style" not in answer.text and "<script>" not in answer.text


def test_themes_follow_the_system_and_then_the_button(visit: Opener) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = visit(color_scheme="dark").open(text=TEXT)
    dark = seen.page.evaluate(ground)
    seen.page.click("#theme")
    light = seen.page.evaluate(ground)
    assert dark == "rgb(16, 18, 22)" and light == "rgb(247, 246, 243)"
    seen.page.reload()
    assert seen.settled().page.evaluate(ground) == light
    expect(seen.page.locator("#theme")).to_have_attribute("aria-pressed", "false")


def test_a_phone_shows_everything_without_scrolling_sideways(visit: Opener) -> None:
    seen = visit(**PHONE).open(text=TEXT)
    words = seen.page.locator("#words > *")
    words.nth(1).tap()
    words.nth(3).tap()
    assert seen.texts("#words > [aria-selected=true]") == FIRST[1:4]
    for view in VIEWS:
        seen.page.locator(f"#tab-{view}").tap()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360
    seen.page.locator("#must").tap()
    expect(seen.page.locator("#constraints li")).to_contain_text("old cat sees")
    seen.settled()


def test_long_sentences_scroll_and_zoom(visit: Opener) -> None:
    seen = visit().open(text=" ".join(["the old cat sees a garden and"] * 8 + ["she sleeps here ."]))
    sizes = "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.getElementById('view'))"
    wide, room = seen.page.evaluate(sizes)
    assert wide > room
    seen.page.click("#larger")
    assert seen.page.evaluate(sizes)[0] > wide
    seen.page.click("#fit")
    assert seen.page.evaluate(sizes)[0] <= room
    seen.page.locator("#view").hover()
    seen.page.keyboard.down("Control")
    seen.page.mouse.wheel(0, -600)
    seen.page.wait_for_function(f"{sizes}[0] > {room}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Opener, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed").AXE_FILE_PATH.read_text()
    seen = visit(color_scheme=theme, reduced_motion="reduce").open(text=TEXT, must="1:0-3:NP")
    seen.page.locator("#words > *").nth(4).focus()
    seen.page.keyboard.press("Space")
    seen.page.click("#next")
    seen.page.evaluate(axe)
    for size in (DESK, PHONE):
        seen.page.set_viewport_size(size["viewport"])
        for view in VIEWS:
            seen.page.click(f"#tab-{view}")
            found = seen.page.evaluate("axe.run()")
            assert len(found["passes"]) > 20
            assert [one for one in found["violations"] if one["impact"] in ("serious", "critical")] == []


def test_a_guarded_server_with_small_limits_has_a_page(visit: Opener, model: Path) -> None:
    with serving(model, "--max-k", "0", "--max-marginal-words", "3", token="s3cret") as server:
        seen = visit(server.url, http_credentials={"username": "any", "password": "s3cret"})
        seen.open(text=TEXT, view="heat")
        expect(seen.page.locator("#view")).to_have_text("This server gives heat maps of at most 3 words.")
        expect(seen.page.locator("#which")).to_contain_text("Tree 1 of 1")
        assert server.end() == 0
        seen.page.click("#form button")
        expect(seen.page.locator("#note")).to_have_text("The server does not answer. Is it still running?")
        assert seen.complaints.pop().startswith("Failed to load resource")
