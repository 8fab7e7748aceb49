"""Tests of figures."""

import sys
from pathlib import Path

import pytest

from treecrf.training.plots import new_figure, save_figure


def test_an_svg_file_is_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the package matplotlib is not installed")
    contents = []
    for name in ("one.svg", "two.svg"):
        figure, axes = new_figure(2)
        axes[1].plot([0, 1], [1, 0], label="a line")
        save_figure(figure, tmp_path / name)
        contents.append((tmp_path / name).read_text(encoding="utf-8"))
    assert contents[0] == contents[1] and "<svg" in contents[0] and len(axes) == 2
    with pytest.raises(ValueError, match=r"cannot draw .*three\.odd"):
        save_figure(figure, tmp_path / "three.odd")


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'treecrf\[plot\]'"):
        new_figure(1)
