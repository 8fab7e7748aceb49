"""Plots of an analysis."""

from pathlib import Path
from typing import Any

import pytest

from treecrf.training.reproduce.plot import plot_analysis


def test_very_small_groups_are_not_plotted(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the package matplotlib is not installed")

    def line(f1: float) -> dict[str, Any]:
        return {"f1": f1, "deviation": None}

    analysis = {
        "learning": [{"title": "100% of the trees", "dev": line(88.0), "test": line(87.0)}],
        "length": [
            {"name": "1-10", "sentences": 2_000, "f1": 90.0},
            {"name": "11-20", "sentences": 4, "f1": 80.0},
            {"name": "201-210", "sentences": 3, "f1": 30.0},
        ],
        "width": [{"name": "33 and more", "gold": 5, "f1": 70.0}],
    }
    assert plot_analysis(analysis, tmp_path / "analysis.svg")
    plot = (tmp_path / "analysis.svg").read_text()
    assert "1-10" in plot and "33+" in plot and "201-210" not in plot
