"""Every `python` and `sh` block of the README and the docs runs, from top to bottom, page by page."""

import ast
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import treecrf
from project_models import EXPLAINED_MODELS, model_folder
from treecrf import Parser
from visited_files import visited_files

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCE = Path(treecrf.__file__).parent
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
# a block of code, and what it prints if the page shows it as text
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
# a script, a style sheet or a picture from another server; links to other servers are allowed
EXTERNAL = re.compile(r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*\shref=["']?(?:https?:)?//""")
# a path in this repository; CODE, NAME and TREEBANK stand for many
REPOSITORY_PATH = re.compile(
    r"(?<![\w/.-])(?:benchmarks|docs|recipes|tests|src/treecrf)/(?![\w./-]*(?:CODE|NAME|TREEBANK))[\w./-]+\w"
)
OWN_TREEBANK = DOCS / "own-treebank.md"
CONTINUES_OWN_TREEBANK = {"calibration.md", "models.md", "scale.md"}  # these pages use the files of that page


@pytest.fixture(scope="session")
def own_treebank(tmp_path_factory):
    """The folder of a reader who has followed `own-treebank.md`: trees, a recipe and the trained parser `own`."""
    folder = tmp_path_factory.mktemp("own-treebank")
    for language, code, _ in blocks(OWN_TREEBANK):
        if language == "sh":
            run_shell(code, folder)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which the blocks of a page run, empty like that of a reader."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, folder, request):
    if page == OWN_TREEBANK or page.name in CONTINUES_OWN_TREEBANK:
        shutil.copytree(request.getfixturevalue("own_treebank"), folder, dirs_exist_ok=True)
    namespace: dict[str, object] = {"__name__": page.stem}
    for number, (language, code, text) in enumerate(blocks(page)):
        output = io.StringIO()
        if language == "python":
            with contextlib.redirect_stdout(output):
                exec(compile(code, f"{page.name}, block {number}", "exec"), namespace)
        elif page != OWN_TREEBANK:  # whose commands have run for the fixture: they train a parser
            output.write(run_shell(code, folder))
        assert not text or lines_of(output.getvalue()) == lines_of(text)


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def blocks(page: Path) -> Iterator[tuple[str, str, str | None]]:
    """The language and the code of each block that runs, and its output if the page shows it."""
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield match[1], match[2], match[3]


def run_shell(code: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, f"{code}\n{process.stdout}\n{process.stderr}"
    return process.stdout


def test_the_gallery_has_25_tasks_of_five_lines():
    gallery = (DOCS / "index.md").read_text(encoding="utf-8").partition("## By task")[0]
    codes = [match[2] for match in BLOCK.finditer(gallery)]
    assert gallery.count("\nI want ") == len(codes) == 25
    assert [code for code in codes if len(list(filter(str.strip, code.splitlines()))) > 5] == []


def test_the_cast_of_the_readme_is_what_its_commands_print():
    process = subprocess.run([sys.executable, DOCS / "cast.py", "-"], capture_output=True, text=True, check=True)
    assert process.stdout == (DOCS / "cast.svg").read_text(encoding="utf-8")


def test_pages_that_continue_another_page_say_so():
    assert all("](own-treebank.md)" in (DOCS / name).read_text(encoding="utf-8") for name in CONTINUES_OWN_TREEBANK)


def test_only_the_training_pages_train_a_parser():
    trains = {page.name for page in PAGES if any("\ntreecrf train " in f"\n{code}" for _, code, _ in blocks(page))}
    assert trains == {"own-treebank.md", "training.md"}


def test_the_site_builds_without_a_warning_and_loads_nothing_from_other_servers(tmp_path):
    pytest.importorskip("mkdocs", reason="the site needs mkdocs: pip install 'treecrf[docs]'")
    command = f"{sys.executable} -m mkdocs build --quiet --strict -f {ROOT / 'mkdocs.yml'} --site-dir {tmp_path}"
    process = subprocess.run(
        command.split(), env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout + process.stderr) == (0, "")
    for page in tmp_path.rglob("*.html"):
        assert not EXTERNAL.search(page.read_text(encoding="utf-8")), page


def test_the_reference_lists_every_public_name():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    assert [name for name in treecrf.__all__ if f"::: treecrf.{name}\n" not in text] == []


def test_the_labels_page_explains_every_english_and_chinese_label_and_tag():
    symbols = code_spans((DOCS / "labels.md").read_text(encoding="utf-8"))
    # the tags of other languages consist of features, and the page explains only their form
    for name in (name for name, language in EXPLAINED_MODELS.items() if language in ("en", "zh")):
        card = read_card(name)
        assert [symbol for symbol in card["labels"] if symbol not in symbols] == []
        tags = {re.sub(r"\[.*", "", tag) for tag in card["tags"]}  # without features such as [+NEG]
        assert [tag for tag in sorted(tags) if not is_explained(tag, symbols)] == []


def code_spans(text: str) -> set[str]:
    """The inline code of a Markdown page; longer runs of backticks enclose code with backticks."""
    return {match[2].strip() for match in re.finditer(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", text)}


def is_explained(tag: str, symbols: set[str]) -> bool:
    """Whether the page has the tag, or a family such as `Na…` that it belongs to."""
    return tag in symbols or any(tag.startswith(symbol[:-1]) for symbol in symbols if symbol.endswith("…"))


def read_card(name: str) -> dict[str, list]:
    return json.loads((model_folder(name) / "card.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("page", "least"), [(DOCS / "how-it-works.md", 30), (ROOT / "CONTRIBUTING.md", 10)])
def test_the_files_that_a_page_names_exist(page, least):
    spans = code_spans(page.read_text(encoding="utf-8"))
    names = [span for span in spans if re.fullmatch(r"[\w/]+(/|\.py|\.c|\.h)", span)]
    assert [name for name in names if not ((ROOT / "src" / "treecrf" / name).exists() or (ROOT / name).exists())] == []
    assert len(names) > least


@pytest.mark.skipif(not any(SOURCE.rglob("*.so")), reason="the checkout has no compiled parts")
def test_how_it_works_names_the_files_that_turn_text_into_a_tree():
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    table = page.partition("\n| stage |")[2].partition("\n\n")[0]
    named = {span for span in code_spans(table) if span.endswith(".py")} | {"parser/parser.py"}
    parser = Parser.load("en", device="cpu")
    assert visited_files(lambda: parser.parse("The time for action is now.")) - named == set()
    assert len(named) <= 40
    command = [sys.executable, ROOT / "tests" / "visited_files.py", "parse", "--device", "cpu"]
    text = "The time for action is now.\n"
    process = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    *names, count = process.stderr.splitlines()  # a line of standard input, from its bytes to the bytes of its tree
    assert process.stdout == f"{parser.parse(text)}\n"
    assert len(names) <= 40 and count == f"{len(names)} files"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_the_paths_that_a_page_names_exist(page):
    paths = REPOSITORY_PATH.findall(page.read_text(encoding="utf-8"))
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_tests_that_a_page_names_exist():
    names = {
        span for page in PAGES for span in code_spans(page.read_text(encoding="utf-8")) if span.startswith("test_")
    }
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert sorted(names - defined) == []
    assert len(names) > 15


def test_troubleshooting_is_about_messages_that_exist():
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    messages = [message for source in (ROOT / "src").rglob("*.py") for message in string_constants(source)]
    foreign = {"treecrf: command not found", "Can't find factory for 'treecrf'"}
    unknown = [title for title in headings if title not in foreign and not any(title in text for text in messages)]
    assert unknown == []
    assert len(headings) > 40


def string_constants(source: Path) -> Iterator[str]:
    """The strings of a module; in a formatted string, an ellipsis stands for each inserted value."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
