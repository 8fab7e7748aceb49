"""The annotation page, in a browser and with a server process, and its routes."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from browser_session import PageSession, launch_browser, playwright, start_browser
from server_process import ServerProcess
from toygrammar import toy_trees

expect = playwright.expect
CORPUS = "the old cat sees a garden and she sleeps here .\nshe sees the wall .\nthe cat sleeps here .\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launch_browser() as browser:
        yield browser


class Annotation:
    """A corpus and its folder, with servers that are started one after the other."""

    def __init__(self, model: Path, folder: Path, browser: Any, corpus: str = CORPUS) -> None:
        self.model, self.browser, self.gold = model, browser, folder / "gold"
        self.corpus = folder / "corpus.txt"
        self.corpus.write_text(corpus, encoding="utf-8")
        self.servers: list[ServerProcess] = []
        self.sessions: list[PageSession] = []

    def start(self, *options: str) -> ServerProcess:
        verb = ("annotate", str(self.corpus), "--tokens", "-o", str(self.gold))
        self.servers.append(ServerProcess(self.model, *options, verb=verb))
        return self.servers[-1]

    def open(self, **state: str) -> PageSession:
        session = PageSession(self.browser, self.servers[-1].url, viewport={"width": 1280, "height": 900})
        self.sessions.append(session)
        return session.open(**state)

    def events(self, name: str = "annotator") -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.gold / f"{name}.events.jsonl").read_text().splitlines()]

    def sentence(self, number: int) -> Any:
        return httpx.get(f"{self.servers[-1].url}/annotation/sentences/{number}", timeout=60).json()

    def close(self) -> None:
        for session in self.sessions:
            session.close()
        for server in self.servers:
            if server.process.poll() is None:
                assert server.stop() == 0
            assert "Traceback" not in "".join(server.log)


@pytest.fixture
def annotation(model: Path, tmp_path: Path, browser: Any) -> Iterator[Annotation]:
    annotation = Annotation(model, tmp_path, browser)
    yield annotation
    annotation.close()


def spans(sentence: Any) -> set[tuple[int, int]]:
    return {(span["start"], span["end"]) for span in sentence["spans"]}


def rejectable(sentence: Any) -> dict[str, Any]:
    """A constituent over several words that is alone over them and not the whole sentence."""
    whole = len(sentence["words"])
    lone = [span for span in sentence["spans"] if 1 < span["end"] - span["start"] < whole]
    chosen: dict[str, Any] = next(
        span for span in lone if sum((one["start"], one["end"]) == (span["start"], span["end"]) for one in lone) == 1
    )
    return chosen


def test_a_tree_is_corrected_by_mouse(annotation: Annotation) -> None:
    annotation.start()
    page = annotation.open(sentence="1").wait().page
    wrong = rejectable(annotation.sentence(0))
    page.click(f"#view g.label[data-start='{wrong['start']}'][data-end='{wrong['end']}']")
    page.click("[data-action=no]")
    expect(page.locator("#constraints .forbid")).to_have_count(1)
    assert (wrong["start"], wrong["end"]) not in spans(annotation.sentence(0))
    page.locator("#words > *").nth(0).click()
    page.locator("#words > *").nth(2).click(modifiers=["Shift"])
    page.fill("#label", "NP")
    page.press("#label", "Enter")
    expect(page.locator("#constraints .require")).to_have_count(1)
    assert (0, 3) in spans(annotation.sentence(0))
    page.click("[data-action=undo]")
    expect(page.locator("#constraints .require")).to_have_count(0)
    page.click("[data-action=redo]")
    expect(page.locator("#constraints .require")).to_have_count(1)
    page.click("#constraints .require button")
    expect(page.locator("#constraints .require")).to_have_count(0)
    page.click("[data-action=undo]")
    expect(page.locator("#constraints .require")).to_have_count(1)
    tree = annotation.sentence(0)["tree"]
    page.click("[data-action=done]")
    expect(page.locator("#progress")).to_contain_text("1 of 3 finished")
    assert (annotation.gold / "annotator.mrg").read_text() == f"{tree}\n"
    assert [event["action"] for event in annotation.events()] == ["no", "yes", "undo", "redo", "free", "undo", "done"]
    page.fill("#pattern", "NP")
    page.press("#pattern", "Enter")
    expect(page.locator("#matches li").first).to_contain_text("1. the old cat")


def test_a_tree_is_corrected_by_keyboard_alone(annotation: Annotation) -> None:
    annotation.start()
    session = annotation.open(sentence="1").wait()
    page, press = session.page, session.page.keyboard.press
    press("w")
    press("Home")
    press("Shift+ArrowRight")
    press("l")
    page.keyboard.type("NP")
    press("Enter")
    expect(page.locator("#constraints .require")).to_have_count(1)
    assert (0, 2) in spans(annotation.sentence(0))
    press("w")
    press("Home")
    press("t")
    page.keyboard.type("DT")
    press("Enter")
    expect(page.locator("#constraints li")).to_have_count(2)
    press("w")
    press("End")
    press("ArrowLeft")
    press("s")
    page.keyboard.type("he re")
    press("Enter")
    expect(page.locator("#words > *")).to_have_count(12)
    press("j")
    expect(page.locator("#words > *")).to_have_count(11)
    press("v")
    press("Home")
    press("ArrowDown")
    press("Enter")
    press("y")
    session.wait()
    press("c")
    page.keyboard.type("unsure")
    press("Enter")
    expect(page.locator("#status")).to_have_text("Saved: comment.")
    press("p")
    expect(page.locator("#progress")).to_contain_text("1 partial")
    actions = [event["action"] for event in annotation.events()]
    assert actions == ["yes", "tag", "tokens", "tokens", "yes", "comment", "partial"]
    (record,) = map(json.loads, (annotation.gold / "annotator.partial.jsonl").read_text().splitlines())
    assert [0, 2, "NP"] in record["require"] and [0, 1, "DT"] in record["require"]


def test_constituents_are_attached_elsewhere_by_dragging_and_by_keys(annotation: Annotation) -> None:
    annotation.start()
    page = annotation.open(sentence="1").wait().page
    sentence = annotation.sentence(0)
    moved = next(span for span in sentence["spans"][2:] if span["start"] > 0)
    root = page.locator("#view g.label").nth(0)
    box, end = (
        element.locator("rect").bounding_box()
        for element in (page.locator("#view g.label").nth(sentence["spans"].index(moved)), root)
    )
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(end["x"] + 5, end["y"] + 5, steps=4)
    page.mouse.up()
    expect(page.locator("#status")).to_have_text("Saved: attach.")
    assert annotation.events()[0]["require"] == [[moved["start"], moved["end"], moved["label"]]]
    page.click("[data-action=undo]")
    expect(page.locator("#status")).to_have_text("Saved: undo.")
    page.locator("#view g.label").nth(sentence["spans"].index(moved)).click()
    page.keyboard.press("a")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.keyboard.press("a")
    expect(page.locator("#status")).to_have_text("Saved: attach.")
    first, second = (event for event in annotation.events() if event["action"] == "attach")
    assert first["require"] == second["require"]


def test_a_killed_server_and_browser_lose_nothing(annotation: Annotation, browser: Any) -> None:
    server = annotation.start()
    session = annotation.open(sentence="1").wait()
    wrong = rejectable(annotation.sentence(0))
    session.page.click(f"#view g.label[data-start='{wrong['start']}'][data-end='{wrong['end']}']")
    session.page.keyboard.press("n")
    expect(session.page.locator("#constraints .forbid")).to_have_count(1)
    before = annotation.sentence(0)
    server.process.kill()
    assert server.stop() == -signal.SIGKILL
    session.page.keyboard.press("u")
    expect(session.page.locator("#message")).to_contain_text("not saved")
    session.messages.clear()  # the refused connection
    log = annotation.gold / "annotator.events.jsonl"
    log.write_bytes(log.read_bytes() + b'{"sentence": 0, "ver')  # a write that the kill has cut
    restarted = annotation.start()
    assert annotation.sentence(0) == before
    assert "was incomplete and was removed" in "".join(restarted.log)
    act_in_a_browser_that_is_killed(annotation)
    again = annotation.open(sentence="1").wait().page
    expect(again.locator("#constraints .forbid")).to_have_count(2)


def act_in_a_browser_that_is_killed(annotation: Annotation) -> None:
    browser = start_browser(annotation.browser.browser_type)
    page = PageSession(browser, annotation.servers[-1].url).open(sentence="1").page
    page.locator("#words > *").nth(1).click()
    page.locator("#words > *").nth(2).click(modifiers=["Shift"])
    page.keyboard.press("n")
    expect(page.locator("#constraints .forbid")).to_have_count(2)
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    (browser_id,) = (process["id"] for process in processes if process["type"] == "browser")
    os.kill(browser_id, signal.SIGKILL)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_accessibility_problems(annotation: Annotation, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe is not installed").AXE_FILE_PATH.read_text()
    annotation.start()
    session = annotation.open(sentence="1").wait()
    session.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    session.page.locator("#words > *").nth(1).click()
    session.page.keyboard.press("n")
    session.wait().page.evaluate(axe)
    for width in (1280, 390):
        session.page.set_viewport_size({"width": width, "height": 900})
        report = session.page.evaluate("axe.run()")
        assert len(report["passes"]) > 20
        assert [one["help"] for one in report["violations"]] == []


def test_a_window_that_is_behind_is_told_and_shows_the_newest_state(annotation: Annotation) -> None:
    annotation.start()
    first, second = (annotation.open(sentence="2").wait() for _ in range(2))
    for session in (first, second):
        session.page.locator("#words > *").nth(0).click()
        session.page.locator("#words > *").nth(1).click(modifiers=["Shift"])
    first.page.click("[data-action=no]")
    expect(first.page.locator("#constraints .forbid")).to_have_count(1)
    second.page.click("[data-action=no]")
    expect(second.page.locator("#message")).to_contain_text("changed in another window")
    expect(second.page.locator("#constraints .forbid")).to_have_count(1)
    assert len(annotation.events()) == 1
    second.messages.clear()  # the browser reports the status 409


def test_a_model_that_has_learned_is_offered_and_used_only_if_somebody_says_so(annotation: Annotation) -> None:
    learned = annotation.gold / "models" / "000010"
    shutil.copytree(annotation.model, learned)
    (learned / "adaptation.json").write_text(json.dumps({"kept": True, "verdict": "kept: better"}))
    annotation.start("--learn")
    page = annotation.open(sentence="1").wait().page
    before = annotation.sentence(0)
    expect(page.locator("#offer")).to_contain_text("learned from 10 finished sentences: kept: better")
    page.click("#offer button")
    expect(page.locator("#offer")).to_be_hidden()
    assert annotation.sentence(0) == before  # the weights are the same ones
    url = f"{annotation.servers[-1].url}/annotation/model"
    assert httpx.post(url, json={"model": "../../en"}).status_code == 422
    assert httpx.post(url, json=[]).status_code == 422


def test_two_annotators_are_compared_side_by_side(annotation: Annotation) -> None:
    annotation.start()
    url = annotation.servers[-1].url
    page = annotation.open(annotator="ann").wait().page
    expect(page.locator("#alone")).to_be_visible()
    expect(page.locator("#compare")).to_be_hidden()
    wrong = rejectable(annotation.sentence(0))
    for name, events in (("ann", []), ("bob", [{"action": "no", "forbid": [[wrong["start"], wrong["end"]]]}])):
        for version, event in enumerate([*events, {"action": "done"}]):
            body = {"sentence": 0, "version": version, **event}
            httpx.post(f"{url}/annotation/events?annotator={name}", json=body, timeout=60).raise_for_status()
    page.reload()
    page.select_option("#other", "bob")
    expect(page.locator("#alone")).to_be_hidden()
    page.click("#compare button")
    expect(page.locator("#agreement")).to_contain_text("1 sentences finished by both, EVALB F1")
    page.click("#differences button")
    expect(page.locator("#sides .picture svg")).to_have_count(2)
    assert page.locator("#sides g.doubted").count() >= 1


def test_five_thousand_sentences(annotation: Annotation) -> None:
    lines = [" ".join(tree.words) for tree in toy_trees(250, seed=8)] * 20
    annotation.corpus.write_text("\n".join(lines) + "\n")
    annotation.start()
    page = annotation.open(sentence="5000").wait().page
    expect(page.locator("#title")).to_have_text("Sentence 5000")
    expect(page.locator("#progress")).to_contain_text("0 of 5000 finished")
    page.keyboard.press("f")
    expect(page.locator("#progress")).to_contain_text("1 of 5000 finished")
    page.keyboard.press("b")
    expect(page.locator("#title")).to_have_text("Sentence 5000 (done)")
    assert page.locator("#queue li").count() == 100


def test_routes_refuse_other_requests(annotation: Annotation) -> None:
    url = f"{annotation.start().url}/annotation"
    event = {"sentence": 0, "version": 0, "action": "no", "forbid": [[0, 2]]}
    post = lambda body, **headers: httpx.post(f"{url}/events", json=body, headers=headers, timeout=60)  # noqa: E731
    assert post(event, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert post({**event, "version": 1}).status_code == 409
    for wrong in (
        [],
        {**event, "sentence": 99},
        {**event, "action": "fly"},
        {**event, "more": 1},
        {**event, "text": "x" * 3000},
    ):
        assert post(wrong).status_code == 422
    assert post({**event, "forbid": [[0, 99]]}).json()["detail"].startswith("words[0:99] are not in this sentence")
    assert httpx.get(f"{url}/queue?order=best", timeout=60).status_code == 422
    assert httpx.get(f"{url}/queue?annotator=../x", timeout=60).status_code == 422
    assert httpx.get(f"{url}/agreement?annotator=a&other=b", timeout=60).status_code == 422
    for name, value in (("tags", ["NN"]), ("words", 5), ("start", "0"), ("require", [[0]]), ("text", 5), ("moved", 1)):
        assert post({**event, name: value}).status_code == 422
    assert not (annotation.gold / "annotator.events.jsonl").exists()
