import re
from pathlib import Path

from fastapi.testclient import TestClient

import treecrf.server

PAGE_FOLDER = Path(treecrf.server.__file__).parent / "page"
# https://www.w3.org/TR/wai-aria-1.2/#state_prop_def; "labelledby" has two l
ARIA_ATTRIBUTES = {
    f"aria-{name}"
    for name in [
        "controls",
        "describedby",
        "expanded",
        "hidden",
        "label",
        "labelledby",
        "level",
        "multiselectable",
        "orientation",
        "pressed",
        "selected",
    ]
}


def test_only_files_of_the_page_are_served(client: TestClient) -> None:
    assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
    for path in (
        "/nowhere",
        "/../app.py",
        "/%2e%2e/app.py",
        "/%00",
        "/page/index.html",
        "/index.html",
        "//etc/passwd",
        "/a" * 2000,
    ):
        assert client.get(path).status_code == 404, path
    assert client.post("/health").status_code == 405
    assert client.get("/parse").status_code == 405


def test_the_attributes_that_name_elements_for_screen_readers_are_spelled_as_in_the_standard() -> None:
    sources = [path.read_text(encoding="utf-8") for path in PAGE_FOLDER.iterdir() if path.suffix in (".html", ".js")]
    names = {name for source in sources for name in re.findall(r"aria-[a-z]+", source)}
    assert names and names <= ARIA_ATTRIBUTES, names - ARIA_ATTRIBUTES
