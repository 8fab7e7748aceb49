"""Tests mirror the source: the tests of `src/treecrf/a/b.py` are in `tests/a/test_b.py`."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "treecrf"
WITHOUT_TESTS = {"arrays.py"}  # names of types
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if not path.stem.startswith("__"))


@pytest.mark.parametrize("path", [path for path in MODULES if path.as_posix() not in WITHOUT_TESTS], ids=str)
def test_every_module_has_its_tests(path):
    assert (TESTS / path.parent / f"test_{path.name}").is_file()
