"""Limits on the size of the source and the documentation, and on phrases that hide their noun."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "treecrf"
MODULES = sorted(SOURCE.rglob("*.py"))
TEXTS = [path for kind in ("py", "md", "toml", "c", "h", "js") for path in (ROOT / "src").rglob(f"*.{kind}")]
TEXTS += (ROOT / "docs").rglob("*.md")


def code_lines(source: str) -> int:
    """The number of lines that are not blank, a comment or in a docstring.

    >>> code_lines("def f():\\n    '''Does\\n    nothing.'''\\n\\n    # nothing\\n    return 1  # one\\n")
    2
    """
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(
        number not in docstrings and bool(line.strip()) and not line.strip().startswith("#") for number, line in lines
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_has_at_most_300_lines_of_code(path: Path) -> None:
    assert code_lines(path.read_text(encoding="utf-8")) <= 300


def test_a_wing_and_a_folder_of_pages_can_be_held_in_mind() -> None:
    wings = [path for path in SOURCE.iterdir() if not path.name.startswith("_") and path.name != "py.typed"]
    assert len(wings) <= 14
    assert len([path for path in (SOURCE / "server").glob("*.py") if path.name != "__init__.py"]) <= 20
    assert len(list((ROOT / "docs").glob("*.md"))) <= 24
    assert len((ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines()) <= 250


def test_comments_and_pages_name_the_noun() -> None:
    pattern = re.compile(r"# of |\bthat of\b|\bthose of\b")
    lines = [line for path in TEXTS for line in path.read_text(encoding="utf-8").splitlines() if pattern.search(line)]
    assert len(lines) < 15, lines


def test_spelling_is_american() -> None:
    pattern = re.compile(r"\blicence|(?<!aria-)\blabelled\b", re.IGNORECASE)
    assert [path for path in TEXTS if pattern.search(path.read_text(encoding="utf-8"))] == []
