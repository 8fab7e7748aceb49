"""Pictures of an analysis."""

from pathlib import Path
from typing import Any

import pytest

from treecrf.reproduce.plot import draw


def test_groups_of_very_few_sentences_are_not_drawn(tmp_path: Path) -> None:
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
    assert draw(analysis, tmp_path / "analysis.svg")
    picture = (tmp_path / "analysis.svg").read_text()
    assert "1-10" in picture and "33+" in picture and "201-210" not in picture
