"""A headless Chromium, and pages in it whose requests and errors are recorded."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from server_process import TIMEOUT

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
_COMMANDS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def launch_browser() -> Iterator[Any]:
    """The system's Chromium, or else Playwright's; without either, the tests are skipped."""
    playwright.expect.set_options(timeout=1000 * TIMEOUT)
    with playwright.sync_playwright() as context:
        browser = start_browser(context.chromium)
        yield browser
        browser.close()


def start_browser(chromium: Any) -> Any:
    """A new process of Chromium."""
    bundled = chromium.executable_path
    path = next(filter(None, map(shutil.which, _COMMANDS)), bundled if Path(bundled).exists() else None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(_COMMANDS)} is installed, and Playwright has no Chromium")
    return chromium.launch(executable_path=path)


class PageSession:
    """A server's page in a browser, with a record of its requests and console messages."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.url = url
        self.requests: list[str] = []
        self.messages: list[str] = []
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(1000 * TIMEOUT)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("console", lambda message: self.messages.append(message.text))

    def open(self, **state: str) -> "PageSession":
        """Opens the page, with the given fields in the fragment of its address."""
        self.page.goto(f"{self.url}/#{urlencode(state)}" if state else self.url)
        return self.wait()

    def wait(self) -> "PageSession":
        """Waits for the responses to all requests of the page."""
        self.page.wait_for_selector("#result[aria-busy=false]", state="attached")
        return self

    def copy(self, kind: str) -> str:
        """Clicks a copy button, and returns the text of the clipboard."""
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

    def close(self) -> None:
        """Closes the page, and checks that it requested nothing from other servers and logged no errors."""
        self.context.close()
        local = (self.url, "blob:", "data:")
        assert [url for url in self.requests if not url.startswith(local)] == []
        assert self.messages == []
