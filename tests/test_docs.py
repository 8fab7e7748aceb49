"""Every `python` and `sh` block of the README and the docs runs, top to bottom, page by page."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import treecrf

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# a script, a style or a picture from another server; links to one are no matter
LOADED = re.compile(r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*\shref=["']?(?:https?:)?//""")


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    for data in (ROOT / "tests" / "samples").glob("*.mrg"):
        shutil.copy(data, tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    for number, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
        language, code = match.groups()
        if language == "python":
            exec(compile(code, f"{page.name}, block {number}", "exec"), namespace)
        else:
            run(code, tmp_path)


def run(code: str, folder: Path) -> None:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env={**os.environ, "PATH": tools},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs", reason="the site needs mkdocs: pip install 'treecrf[docs]'")
    command = f"{sys.executable} -m mkdocs build --quiet --strict -f {ROOT / 'mkdocs.yml'} --site-dir {tmp_path}"
    done = subprocess.run(
        command.split(), env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    for page in tmp_path.rglob("*.html"):
        assert not LOADED.search(page.read_text(encoding="utf-8")), page


def test_the_reference_names_everything_public():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in treecrf.__all__ if f"::: treecrf.{name}\n" not in text] == []


def test_troubleshooting_is_about_messages_that_exist():
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    ours = [message for source in (ROOT / "src").rglob("*.py") for message in messages(source)]
    foreign = {"treecrf: command not found", "Can't find factory for 'treecrf'"}
    assert [title for title in quoted if title not in foreign and not any(title in message for message in ours)] == []
    assert len(quoted) > 40


def messages(source: Path) -> Iterator[str]:
    """The strings of a module, with an ellipsis for what a formatted one puts in."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
