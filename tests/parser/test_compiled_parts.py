import re
from pathlib import Path

import pytest

import treecrf
from treecrf.chart import cpu_backend
from treecrf.network.runtime import int8
from treecrf.parser import scorers
from treecrf.parser.decoding import label_grammar
from treecrf.parser.scorers import missing_parts, warn_about_missing_parts
from treecrf.trees.treebank import bracket_writer

ROOT = Path(treecrf.__file__).parent


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (cpu_backend, label_grammar, bracket_writer):
        monkeypatch.setattr(module, "available", False)
    monkeypatch.setattr(int8, "is_compiled", False)
    monkeypatch.setattr(scorers, "_SEARCH", tmp_path)


@pytest.mark.usefixtures("without_compiler")
def test_every_package_with_c_code_is_known() -> None:
    packages = {path.parent.name for path in ROOT.rglob("*.c")}
    assert set(missing_parts()) == packages


def test_a_part_is_missing_if_and_only_if_its_file_is() -> None:
    stubs = {path.parent.name: path for path in ROOT.rglob("_*.pyi")}
    missing = {name for name, path in stubs.items() if not list(path.parent.glob(f"{path.stem}.*[do]"))}
    assert set(missing_parts()) == missing


@pytest.mark.usefixtures("without_compiler")
def test_missing_parts_warn_once() -> None:
    warn_about_missing_parts.cache_clear()
    names = re.escape("(chart, decoding, runtime, search, treebank)")
    with pytest.warns(RuntimeWarning, match=rf"parsing is slow: .* compiled parts {names}") as warned:
        warn_about_missing_parts()
        warn_about_missing_parts()
    assert len(warned) == 1
    warn_about_missing_parts.cache_clear()
