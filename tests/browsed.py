"""A browser without a window, and pages in it that are watched."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from served import PATIENCE

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browsing() -> Iterator[Any]:
    """A Chromium, the system's or Playwright's; where there is none, the tests skip."""
    playwright.expect.set_options(timeout=1000 * PATIENCE)
    with playwright.sync_playwright() as player:
        own = player.chromium.executable_path
        path = next(filter(None, map(shutil.which, _NAMES)), own if Path(own).exists() else None)
        if path is None:
            pytest.skip(f"no browser: none of {', '.join(_NAMES)} is installed, and no Chromium of Playwright's")
        browser = player.chromium.launch(executable_path=path)
        yield browser
        browser.close()


class Visit:
    """A page of a server in a browser; what it asks for and complains about is kept."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.url = url
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(1000 * PATIENCE)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda line: self.complaints.append(line.text))

    def open(self, **state: str) -> "Visit":
        """The page in some state, as a link says it."""
        self.page.goto(f"{self.url}/#{urlencode(state)}" if state else self.url)
        return self.settled()

    def settled(self) -> "Visit":
        """After the answers to what was done last."""
        self.page.wait_for_selector("#result[aria-busy=false]", state="attached")
        return self

    def copied(self, kind: str) -> str:
        """What a button puts on the clipboard."""
        self.page.evaluate("navigator.clipboard.writeText('')")
        self.page.click(f"[data-copy={kind}]")
        self.page.wait_for_function("async () => (await navigator.clipboard.readText()) !== ''")
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def texts(self, selector: str) -> list[str]:
        return list(self.page.locator(selector).all_inner_texts())

    def attributes(self, selector: str, name: str) -> list[str]:
        return list(
            self.page.eval_on_selector_all(selector, "(all, name) => all.map((one) => one.getAttribute(name))", name)
        )

    def end(self) -> None:
        """Nothing came from elsewhere, and nothing went wrong."""
        self.context.close()
        own = (self.url, "blob:", "data:")
        assert [url for url in self.requests if not url.startswith(own)] == []
        assert self.complaints == []
