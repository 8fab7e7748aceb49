"""Makes the screenshots of the web page and the drawings of docs/draw.md: `python docs/screenshots.py`.

It needs the extras `test` and `server`. Without Chromium or Chrome, it says so and makes none.
"""

import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from treecrf import Tree
from treecrf.trees import drawing

FOLDER = Path(__file__).parent / "page"
PORT = 8765
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
SHORT = "The old man saw the girl with the telescope."
LONG = (
    "When the committee met on Thursday evening, its members, who had spent most of the winter arguing about the cost "
    "of the new library, agreed that the old building near the river should be repaired first, because the roof leaked "
    "whenever it rained and the rare books in the basement were already damp."
)
ABSTRACT = """
Cytokine-induced expression of VCAM-1, ICAM-1 and E-selectin was measured after 4, 8 and 24 h (n = 3). We show that
aspirin inhibits the activation of NF-kappa B in human T cells. These proteins bind DNA. Both sites are necessary.
"""
TREES = """
(TOP (S (NP-SBJ (DT The) (NN cat)) (VP (VBD sat) (PP-LOC (IN on) (NP (DT the) (NN mat)))) (. .)))
(TOP (S (NP-SBJ (PRP It)) (VP (VBD saw) (NP (NP (DT a) (NN bird)) (PP (IN in) (NP (DT the) (NN tree))))) (. .)))
"""
COLORS = 256


@contextmanager
def run_server(*arguments: str) -> Iterator[str]:
    """The address of a server."""
    command = [sys.executable, "-m", "treecrf", *arguments, "--port", str(PORT), "--device", "cpu"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{PORT}"
    try:
        for _ in range(300):
            try:
                urlopen(f"{url}/health").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def open_page(browser: Browser, url: str, device: str, theme: str, **state: str) -> Page:
    """The page with a state, when it has its trees."""
    width, height = SIZES[device]
    options: dict[str, Any] = {"viewport": {"width": width, "height": height}, "color_scheme": theme}
    page = browser.new_context(**options, reduced_motion="reduce", has_touch=device == "phone").new_page()
    page.goto(f"{url}/#{urlencode(state)}")
    page.wait_for_selector("#result[aria-busy=false]", state="attached")
    return page


def save(page: Page, name: str, *, full: bool = False) -> None:
    """Saves a screenshot with a palette, and closes its page."""
    FOLDER.mkdir(exist_ok=True)
    image = Image.open(io.BytesIO(page.screenshot(full_page=full))).convert("RGB")
    with_palette(np.asarray(image)).save(FOLDER / f"{name}.png", optimize=True)
    page.context.close()


def with_palette(pixels: np.ndarray) -> Image.Image:
    """The picture with its most frequent colors; every other color becomes the nearest of them."""
    colors, pixel_colors, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    palette = colors[np.argsort(-counts)[:COLORS]].astype(int)
    nearest = np.array([np.abs(palette - color).sum(1).argmin() for color in colors], np.uint8)
    picture = Image.fromarray(nearest[pixel_colors].reshape(pixels.shape[:2]), "P")
    picture.putpalette(palette.astype(np.uint8).tobytes())
    return picture


def collapse(page: Page, *constituents: tuple[str, str]) -> None:
    """Collapses constituents, given by their label and their first word."""
    words = page.locator("#words > *").all_inner_texts()
    for label, first_word in constituents:
        page.locator(f'#view g.label[data-label="{label}"][data-start="{words.index(first_word)}"]').first.dblclick()
    page.mouse.move(1, 1)


def save_drawings() -> None:
    """Draws a tree without probabilities, and one with invented ones."""
    folder = Path(__file__).parent / "draw"
    drawings: dict[str, tuple[str, list[float] | None]] = {
        "tidy": (
            "(TOP (S (NP (NP (DT The) (NN cat)) (SBAR (WHNP (WDT that)) (S (NP (PRP we)) (VP (VBD saw))))) "
            "(VP (VBD sat) (PP (IN on) (NP (DT a) (NN wall)))) (. .)))",
            None,
        ),
        "probabilities": (
            "(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (DT the) (NN cat)) "
            "(PP (IN with) (NP (DT a) (NN telescope)))) (. .)))",
            [1.0, 0.99, 1.0, 0.98, 0.64, 0.58, 0.97],
        ),
    }
    for name, (tree, probabilities) in drawings.items():
        (folder / f"{name}.svg").write_text(drawing.svg(Tree.parse(tree), probabilities), encoding="utf-8")


def main() -> None:
    """Makes all pictures."""
    save_drawings()
    command = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if command is None:
        print("docs/screenshots.py: no Chromium and no Chrome, so the documentation has no pictures of the web page")
        return
    with run_server("serve", "--model", "en", "en-lstm") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=command)
        for length, text in (("10", SHORT), ("60", LONG)):
            for device in SIZES:
                for theme in ("light", "dark"):
                    page = open_page(browser, url, device, theme, text=text)
                    if (length, device) == ("60", "phone"):
                        page.locator("#words").scroll_into_view_if_needed()
                        page.evaluate("scrollTo(0, document.querySelector('#viewer').offsetTop - 8)")
                    save(page, f"{length}-{device}-{theme}", full=(length, device) == ("10", "phone"))
        page = open_page(browser, url, "desktop", "light", text=SHORT, tree="2")
        page.locator("#view g.label[data-label=NP][data-start='4']").first.hover()
        save(page, "alternative")
        state = {"text": SHORT, "with": "model:en-lstm"}
        save(open_page(browser, url, "desktop", "light", **state, tree="2"), "comparison")
        page = open_page(browser, url, "desktop", "light", text=LONG, hide="punctuation")
        collapse(page, ("SBAR", "When"), ("SBAR", "who"), ("SBAR", "because"))
        save(page, "collapsed")
        page = open_page(browser, url, "desktop", "light", text=TREES)
        page.fill("#pattern", "@NP << NN")
        page.keyboard.press("Enter")
        page.locator("#matches button").last.click()
        page.wait_for_selector("#words > [aria-selected=true]")
        save(page, "search")
        save(open_page(browser, url, "desktop", "light", text=SHORT, view="heat"), "heat-map")
        page = open_page(browser, url, "desktop", "light", text=SHORT)
        page.keyboard.press("?")
        save(page, "shortcuts")
        page = open_page(browser, url, "desktop", "light", text=SHORT)
        page.goto(f"{url}/docs")
        page.click("#route-parse button")
        page.locator("pre").get_by_text("200").wait_for()
        save(page, "api")
        browser.close()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=command)
        save_annotation(browser, Path(folder))
        browser.close()


def save_annotation(browser: Browser, folder: Path) -> None:
    """The annotation page after an action, with another constituent selected."""
    corpus = folder / "abstracts.txt"
    corpus.write_text(ABSTRACT, encoding="utf-8")
    with run_server("annotate", str(corpus), "--model", "en", "-o", str(folder / "gold")) as url:
        page = open_page(browser, url, "desktop", "light", sentence="1")
        page.locator("#words > *").nth(11).click()
        page.locator("#words > *").nth(16).click(modifiers=["Shift"])
        page.click("[data-action=yes]")
        page.wait_for_selector("#constraints .require")
        page.keyboard.press("d")
        save(page, "annotation")


if __name__ == "__main__":
    main()
